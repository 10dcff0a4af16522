"""Apple's .stringsdict: texts with plural forms, of one language, as an XML property list."""

from __future__ import annotations

from collections.abc import Iterator

from regard.errors import UserError
from regard.formats.unit import FileSpan, Unit
from regard.formats.xml_events import InlineKind, XmlEvent, XmlFile, read_inline, skip_element

FORMAT_KEY = "NSStringLocalizedFormatKey"
PLURALS = ("zero", "one", "two", "few", "many", "other")


def read_stringsdict(xml: XmlFile) -> Iterator[Unit]:
    """A unit for each plural form of each variable, and for a format that has words of its own."""
    events = xml.events()
    root = next((event for event in events if event.kind == "start"), None)
    if root is None or root.name != "plist":
        raise UserError(f"{xml.path}: no <plist> at its start; is it a .stringsdict?")
    path: list[str] = []
    key = ""
    for event in events:
        if event.kind == "start" and event.name == "dict":
            path.append(key)
        elif event.kind == "end" and event.name == "dict":
            path.pop()
        elif event.kind == "start" and event.name == "key":
            key, _ = _text(xml, events, event)
        elif event.kind == "start" and event.name == "string":
            text, span = _text(xml, events, event)
            words = key == FORMAT_KEY and any(not part.startswith("%") for part in text.split())
            if key in PLURALS or words:
                name = "/".join(path[1:]) if key in PLURALS else "/".join([*path[1:], key])
                plural = key if key in PLURALS else ""
                yield Unit(name, text, "", "untranslated", xml.place(event), plural=plural, spans={"text": span})
        elif event.kind == "start":
            skip_element(events, event)


def _text(xml: XmlFile, events: Iterator[XmlEvent], event: XmlEvent) -> tuple[str, FileSpan]:
    pieces, end = read_inline(xml, events, event, _inline_kind)
    return "".join(piece for piece in pieces if isinstance(piece, str)), FileSpan(event.end, end.start)


def _inline_kind(event: XmlEvent) -> tuple[InlineKind, str]:
    return "through", event.name
