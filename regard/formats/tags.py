"""Canonical tags: how inline elements of any format stand in the text that a model reads.

`<g1>…</g1>` is a pair around a text, `<x2/>` stands alone. They are numbered in the order of appearance in the source;
an element of the target has the number of its counterpart in the source. A number that the text itself spells (a text
may say "<g1>") is passed over, so that every canonical tag of a unit means one element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from regard.formats.unit import Unit

CANONICAL = re.compile(r"</?g(\d+)>|<x(\d+)/>")

# begin and end: the two ends of one element that the format writes as two, such as <bpt> and <ept>
MarkKind = Literal["open", "close", "alone", "begin", "end"]


@dataclass(frozen=True)
class Mark:
    """One inline element, or one of its ends. `identity`: what it shares with its counterpart in the other language."""

    kind: MarkKind
    identity: str
    native: str


@dataclass(frozen=True)
class TaggedText:
    """A text with canonical tags, what they stand for, and which element has which number."""

    text: str
    native: dict[str, str]
    numbers: dict[tuple[bool, str], tuple[int, ...]]  # (is a pair, identity) → its numbers


def with_tags(pieces: Sequence[str | Mark], source: TaggedText | None = None) -> TaggedText:
    """Text and marks as one text. `source`: numbers of the source, for a target."""
    paired = _paired(pieces)
    spelled = {int(a or b) for piece in pieces if isinstance(piece, str) for a, b in CANONICAL.findall(piece)}
    free = {identity: list(numbers) for identity, numbers in source.numbers.items()} if source else {}
    taken = {number for numbers in source.numbers.values() for number in numbers} if source else set()
    parts: list[str] = []
    native: dict[str, str] = {}
    numbers: dict[tuple[bool, str], tuple[int, ...]] = {}
    opened: list[int] = []
    following = 1
    for index, piece in enumerate(pieces):
        if isinstance(piece, str):
            parts.append(piece)
            continue
        if index in paired and piece.kind in ("close", "end"):
            tag = f"</g{opened.pop()}>"
        else:
            identity = (index in paired, piece.identity)
            if free.get(identity):
                number = free[identity].pop(0)
            else:
                while following in taken or following in spelled:
                    following += 1
                number = following
                taken.add(number)
            numbers[identity] = (*numbers.get(identity, ()), number)
            tag = f"<g{number}>" if index in paired else f"<x{number}/>"
            if index in paired:
                opened.append(number)
        parts.append(tag)
        native[tag] = piece.native
    return TaggedText("".join(parts), native, numbers)


def _paired(pieces: Sequence[str | Mark]) -> set[int]:
    """The places of marks that are ends of a pair: those of the file's own, and begins and ends that nest with them."""
    paired: set[int] = set()
    stack: list[tuple[int, Mark]] = []
    for index, piece in enumerate(pieces):
        if isinstance(piece, str) or piece.kind == "alone":
            continue
        if piece.kind in ("open", "begin"):
            stack.append((index, piece))
        elif piece.kind == "close":
            while stack[-1][1].kind == "begin":  # crosses the end of an element: stands alone
                stack.pop()
            paired |= {index, stack.pop()[0]}
        elif stack and stack[-1][1].kind == "begin" and stack[-1][1].identity == piece.identity:
            paired |= {index, stack.pop()[0]}
    return paired


def tag_problem(text: str, native: Mapping[str, str]) -> str | None:
    """Why this translation does not hold each tag of the source once, pairs nested; None where it does."""
    found = [match.group() for match in CANONICAL.finditer(text) if match.group() in native]
    opened: list[str] = []
    for tag in found:
        if tag.startswith("<g"):
            opened.append(tag)
        elif tag.startswith("</") and (not opened or opened.pop() != tag.replace("/", "", 1)):
            return f"{tag} closes what is not open"
    wanted = set(native)
    for tag in native:
        if found.count(tag) != 1:
            return f"{tag} is missing" if tag not in found else f"{tag} occurs {found.count(tag)} times"
    return None if set(found) == wanted and not opened else "tags differ"


def with_native(text: str, unit: Unit, escape: Callable[[str], str]) -> str:
    """The translation as the file writes it: each canonical tag of the unit is its own markup, the text is escaped."""
    parts, position = [], 0
    for match in CANONICAL.finditer(text):
        if match.group() in unit.native:
            parts += [escape(text[position : match.start()]), unit.native[match.group()]]
            position = match.end()
    return "".join([*parts, escape(text[position:])])
