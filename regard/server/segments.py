"""A text as what a sentence model translates: its lines, or the texts between the tags of HTML; and back again.

Lines are translated one by one, as `regard translate` does. White space around them, empty lines, tags, comments, and
what has neither letter nor digit (emoji, rules, bullets) come back as they are.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

TextFormat = Literal["text", "html"]
LINES = re.compile(r"(\r\n|\n|\r)")
TAG = re.compile(r"<[/!?a-zA-Z][^<>]*>")
BREAK_OR_TAG = re.compile(r"\r\n|\n|\r|<")
KEPT = re.compile(r"<(script|style|code|pre)\b", re.I)  # elements whose content is no prose


@dataclass(frozen=True)
class SegmentedText:
    """Pieces in order; those at `places` are translated, the others stay."""

    pieces: tuple[str, ...]
    places: tuple[int, ...]
    format: TextFormat

    @property
    def segments(self) -> list[str]:
        """What is translated."""
        return [self.pieces[place] for place in self.places]

    def joined(self, translations: Sequence[str]) -> str:
        """The text with these translations. An empty one would leave a hole that clients take for an error: there the
        source stays."""
        pieces = list(self.pieces)
        for place, translation in zip(self.places, translations, strict=True):
            pieces[place] = translation if translation.strip() else pieces[place]
            if self.format == "html":
                pieces[place] = html.escape(pieces[place], quote=False)
        return "".join(pieces)


def segmented(text: str, format: TextFormat = "text") -> SegmentedText:
    """Split a text; joined with its own segments it is the text again (HTML: with its entities spelled alike)."""
    pieces: list[str] = []
    places: list[int] = []
    for content, markup in _split(text, format):
        plain = html.unescape(content) if format == "html" else content
        core = plain.strip()
        if any(map(str.isalnum, core)):
            start = plain.index(core)
            pieces += [plain[:start], core, plain[start + len(core) :], markup]
            places.append(len(pieces) - 3)
        else:
            pieces += [content, markup]
    return SegmentedText(tuple(pieces), tuple(places), format)


def _split(text: str, format: TextFormat) -> list[tuple[str, str]]:
    """Texts, each with the line break or the tag after it."""
    if format == "text":
        parts = LINES.split(text)
        return list(zip(parts[::2], [*parts[1::2], ""], strict=True))
    found, end, unclosed = [], 0, set[str]()
    while (match := BREAK_OR_TAG.search(text, end)) is not None:
        start, after = match.start(), match.end()
        while match is not None and match[0] == "<" and (after := _markup_end(text, match.start(), unclosed)) == 0:
            match = BREAK_OR_TAG.search(text, match.end())  # a "<" of the text
            start, after = (match.start(), match.end()) if match is not None else (0, 0)
        if match is None:
            break
        found.append((text[end:start], text[start:after]))
        end = after
    return [*found, (text[end:], "")]


def _markup_end(text: str, start: int, unclosed: set[str]) -> int:
    """Past the comment, the tag or the whole element that begins here; 0: nothing does. `unclosed`: ends that were
    looked for in vain, so that the search stays linear."""
    if text.startswith("<!--", start):
        return _past("-->", text, start, unclosed)
    tag = TAG.match(text, start)
    if tag is None:
        return 0
    kept = KEPT.match(text, start)
    closing = _past(f"</{kept[1].lower()}>", text, tag.end(), unclosed) if kept else 0
    return closing or tag.end()


def _past(closing: str, text: str, start: int, unclosed: set[str]) -> int:
    if closing in unclosed:
        return 0
    found = text.lower().find(closing, start) if len(text) == len(text.lower()) else text.find(closing, start)
    if found < 0:
        unclosed.add(closing)
        return 0
    return found + len(closing)
