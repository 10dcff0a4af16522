"""The part of an XLIFF 2 file that is being checked, as a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from regard.formats.xliff2_elements import CORE
from regard.formats.xml_events import XmlEvent

Report = Callable[["XliffElement", str], None]


@dataclass
class XliffElement:
    """An element with what is in it. `side`: source or target, for inline elements."""

    event: XmlEvent
    parent: XliffElement | None = None
    children: list[XliffElement] = field(default_factory=list)
    text: str = ""

    @property
    def name(self) -> str:
        return self.event.name if CORE.fullmatch(self.event.namespace) else ""

    @property
    def attributes(self) -> dict[str, str]:
        return self.event.attributes

    def get(self, name: str, default: str = "") -> str:
        return self.event.attributes.get(name, default)

    def inherited(self, name: str, default: str = "") -> str:
        """Of this element, or of the nearest around it that has the attribute."""
        element: XliffElement | None = self
        while element is not None and name not in element.attributes:
            element = element.parent
        return default if element is None else element.get(name)

    def all(self, *names: str) -> Iterator[XliffElement]:
        """This element and those inside with one of these names, in their order."""
        if self.name in names:
            yield self
        for child in self.children:
            yield from child.all(*names)


@dataclass
class XliffFileState:
    """What one <file> has so far. `subflows`: references to units that may follow."""

    ids: set[tuple[str, str]] = field(default_factory=set)
    subflows: list[tuple[XliffElement, str]] = field(default_factory=list)
