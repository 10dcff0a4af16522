"""The records of translators' files: a unit that is read, and what is written into its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import AnyStr, Generic, Literal

# fuzzy: there is a target, and somebody must look at it. obsolete: the program no longer has this text.
# protected: the file says that it is not to be translated.
UnitState = Literal["untranslated", "fuzzy", "translated", "obsolete", "protected"]


@dataclass(frozen=True)
class Span:
    """From start up to end: characters of a text file, bytes of an XML file in UTF-8. Empty: a place to insert at."""

    start: int
    end: int


@dataclass(frozen=True)
class Unit:
    """One text to translate. A text with plural forms is one unit for each form of the target.

    Inline elements stand in the texts as canonical tags (regard.formats.tags).
    """

    key: str  # what identifies it in its file
    source: str
    target: str
    state: UnitState
    place: str  # file:line
    context: str = ""
    notes: tuple[str, ...] = ()
    languages: str = ""  # of both texts, as "en-US fr-CA", where the file names them for each unit
    plural: str = ""  # the number of the plural form, or its name (one, few, many …)
    native: Mapping[str, str] = field(default_factory=dict)  # canonical tag → the file's own markup
    spans: Mapping[str, Span] = field(default_factory=dict)  # where in the file what is; each format has its names


@dataclass(frozen=True)
class LeftOut:
    """Something in a file that is no unit, and why."""

    place: str
    why: str


@dataclass(frozen=True)
class Filling:
    """A target for a unit. `review`: a human must look at it. `note`: where it comes from, in one line."""

    unit: Unit
    target: str
    origin: Literal["machine", "memory"]
    review: bool
    note: str
    score: float | None = None  # 0 to 1: probability that it is right, or similarity of a match


@dataclass(frozen=True)
class LanguagePair:
    """The languages that are wanted, as en or pt-BR; None: those of the file."""

    source: str | None = None
    target: str | None = None


def normal_language(code: str) -> str:
    """en_US → en-us"""
    return code.strip().replace("_", "-").lower()


def is_variant(given: str, wanted: str) -> bool:
    """en-US is a variant of en, and each language of itself."""
    given, wanted = normal_language(given), normal_language(wanted)
    return given == wanted or given.startswith(wanted + "-")


@dataclass(frozen=True)
class Splice(Generic[AnyStr]):
    """New content in the place of a span."""

    span: Span
    content: AnyStr


def spliced(content: AnyStr, splices: Sequence[Splice[AnyStr]]) -> AnyStr:
    """The content with these spans replaced, all else as it is. Equal splices are one; of those at one place the first
    given comes first."""
    pieces: list[AnyStr] = []
    position = 0
    for splice in sorted(dict.fromkeys(splices), key=lambda splice: (splice.span.start, splice.span.end)):
        assert splice.span.start >= position, f"splices overlap at {splice.span}"
        pieces += [content[position : splice.span.start], splice.content]
        position = splice.span.end
    pieces.append(content[position:])
    return content[:0].join(pieces)
