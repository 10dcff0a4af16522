"""The records of translators' files: a unit that is read, and what is written into its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

# fuzzy: there is a target, and somebody must look at it. obsolete: the program no longer has this text.
# protected: the file says that it is not to be translated.
UnitState = Literal["untranslated", "fuzzy", "translated", "obsolete", "protected"]
UnitChoice = Literal["untranslated", "fuzzy", "all"]  # which units get a target: each includes those before it


@dataclass(frozen=True)
class FileSpan:
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
    target_native: Mapping[str, str] = field(default_factory=dict)  # of the target, where its file is another
    spans: Mapping[str, FileSpan] = field(default_factory=dict)  # where in the file what is; each format has its names


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
class Splice:
    """New content in the place of a span."""

    span: FileSpan
    content: str


def spliced(text: str, splices: Sequence[Splice]) -> str:
    """The text with these spans replaced, all else as it is. Equal splices are one; of those at one place the first
    given comes first."""
    pieces: list[str] = []
    position = 0
    for splice in _in_order(splices):
        pieces += [text[position : splice.span.start], splice.content]
        position = splice.span.end
    return "".join([*pieces, text[position:]])


def spliced_bytes(content: bytes, splices: Sequence[Splice]) -> bytes:
    """The same of UTF-8, with spans in bytes."""
    pieces: list[bytes] = []
    position = 0
    for splice in _in_order(splices):
        pieces += [content[position : splice.span.start], splice.content.encode()]
        position = splice.span.end
    return b"".join([*pieces, content[position:]])


def _in_order(splices: Sequence[Splice]) -> list[Splice]:
    ordered = sorted(dict.fromkeys(splices), key=lambda splice: (splice.span.start, splice.span.end))
    for before, after in pairwise(ordered):
        assert before.span.end <= after.span.start, f"splices overlap at {after.span}"
    return ordered
