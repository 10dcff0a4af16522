"""What a translation must hold as its source does: tags, format placeholders, URLs, addresses, product codes.

    <b>…</b>  <br/>  <x id="0"></x>  [X7X]  {name}  {0}  {{count}}  ${x}  %s  %1$d  %(name)s  %{x}  &amp;  AB-1234
    {count, plural, one {…} other {…}}: one placeholder here; its branches are texts of their own (data/icu.py)

A placeholder is found where it stands: first and past-last character, and what kind it is. A tag is a pair where its
other half follows in legal order, as in XML; else it stands alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html.entities import html5
from typing import Literal

PlaceholderKind = Literal[
    "open tag", "close tag", "tag", "element", "braces", "icu", "printf", "variable", "entity", "url", "e-mail", "code"
]
Role = Literal["open", "close", "mark", "value"]
NAME = r"[A-Za-z_][\w.:-]*"
ATTRIBUTES = r"""(?:\s+[\w:.@-]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+))?)*\s*"""
# Characters of a private plane that stand for placeholders in a masked text (data/masking.py). Where a text has one of
# its own, it is a placeholder itself.
PRIVATE = r"[\U0010F800-\U0010FBFF]"
# In this order: of what begins at one character the first counts.
PATTERNS: dict[str, str] = {
    "element": rf"<(?P<tag>{NAME}){ATTRIBUTES}></(?P=tag)\s*>",
    "close": rf"</{NAME}\s*>",
    "single": rf"<{NAME}{ATTRIBUTES}/>|<!--.*?-->",
    "open": rf"<{NAME}{ATTRIBUTES}>",
    "weblate": rf"\[X\d+X\]|{PRIVATE}",
    "url": r"(?:https?|ftps?|sftp|file|wss?|git|ssh)://[^\s<>\"'|\\^`]+|\bwww\.[^\s<>\"'|\\^`]+",
    "email": r"(?<![\w.+-])[\w.+-]*\w@\w[\w-]*(?:\.[\w-]+)+(?<![.-])",
    "choice": r"\{\s*[\w.-]+\s*,\s*(?:plural|selectordinal|select)\s*,",
    "braces": (
        r"\{#\}|[$#%]?\{\{[^{}]*\}\}|\{%[^{}]*%\}|[$#%]?\{\s*(?:[\w.\[\]-]+\s*(?:,[^{}]*|![rsa](?::[^{}\s]*)?|:[^{}\s]*)?"
        r"|:[^{}\s]*|![rsa])?\s*\}|\$\[\w+\]"
    ),
    "printf": (
        r"%\([\w.]+\)[-+#0]*\d*(?:\.\d+)?[a-zA-Z]|%%"
        r"|(?<![\d%])%(?:\d{1,2}\$)?[-+#0']*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|L|q|j|z|t)?"
        r"[diouxXeEfFgGaAcCsSpn@](?![A-Za-rt-z])"
        r"|(?<![\d%])%L?[1-9]\d?(?![\d%])"
    ),
    "variable": r"(?<![\d%])%[A-Za-z_]\w*%|(?<!\w)%[A-Z]{4,}\b|(?<!\w)\$[A-Za-z_]\w*\$?",
    "entity": rf"&(?:{'|'.join(sorted(name for name in html5 if name[-1] == ';'))}|#\d+;|#[xX][0-9A-Fa-f]+;)",
    "code": r"(?<![\w.-])(?=[A-Z_-]*\d)[A-Z][A-Z0-9]*(?:[-_][A-Z0-9]+)*(?![\w-])",
}
PATTERN = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in PATTERNS.items()), re.DOTALL)
ANY = re.compile(rf"[<{{%$&@\[]|\d|://|www\.|{PRIVATE}")  # a text without any of these holds none
SHORTEST_CODE = 4  # MP3 and A4 are words
TRAILING = ".,;:!?"  # ends a sentence, not a URL
KINDS: dict[str, PlaceholderKind] = {
    "element": "element",
    "close": "close tag",
    "single": "tag",
    "open": "open tag",
    "weblate": "variable",
    "url": "url",
    "email": "e-mail",
    "choice": "icu",
    "braces": "braces",
    "printf": "printf",
    "variable": "variable",
    "entity": "entity",
    "code": "code",
}


@dataclass(frozen=True)
class Placeholder:
    """One placeholder of a text: text[start:end]."""

    start: int
    end: int
    kind: PlaceholderKind
    text: str
    pair: int | None = None  # of the two halves of a tag pair: the index of the other one

    @property
    def role(self) -> Role:
        """Half of a pair; a mark, which stands for itself; or a value, which stands for a word or a name."""
        if self.pair is not None:
            return "open" if self.kind == "open tag" else "close"
        return "mark" if self.kind in ("open tag", "close tag", "tag", "entity") or self.text == "%%" else "value"

    @property
    def key(self) -> str:
        """Equal for placeholders that are the same but for their writing: {x} and { x }, <br> and <br />; and for ICU
        choices by one argument, whose branches are in two languages."""
        if self.kind == "icu":
            name, kind, *_ = self.text[1:].split(",")
            return f"{{{name.strip()}, {kind.strip()}}}"
        if self.kind == "braces":
            return re.sub(r"\s+", "", self.text)
        if self.kind in ("tag", "open tag") and self.pair is None:
            return re.sub(r"\s*/?>$", ">", " ".join(self.text.split()))
        return " ".join(self.text.split()) if "tag" in self.kind else self.text


@dataclass(frozen=True)
class Difference:
    """How the placeholders of a translation differ from its source's."""

    missing: tuple[str, ...]
    added: tuple[str, ...]  # that the source lacks, or has less often
    disorder: bool = False  # all are there, but a tag pair is torn apart, or begins after its end

    def __bool__(self) -> bool:
        return bool(self.missing or self.added or self.disorder)

    def __str__(self) -> str:
        parts = [f"{' '.join(self.missing)} missing"] if self.missing else []
        parts += [f"{' '.join(self.added)} too many"] if self.added else []
        parts += ["tags in no legal order"] if self.disorder else []
        return ", ".join(parts)


def find_placeholders(text: str) -> list[Placeholder]:
    """All of a text, in order, none inside another."""
    if not ANY.search(text):
        return []
    found: list[Placeholder] = []
    position = 0
    while match := PATTERN.search(text, position):
        start, end = match.span()
        name = match.lastgroup if match.lastgroup != "tag" else "element"
        if name == "choice":
            end = closing_brace(text, start)
        elif name == "url":
            end = _url_end(text, start, end)
        if end <= start or (name == "code" and end - start < SHORTEST_CODE):  # or braces that nothing closes
            position = start + 1
            continue
        assert name is not None
        found.append(Placeholder(start, end, KINDS[name], text[start:end]))
        position = end
    return _paired(found)


def closing_brace(text: str, start: int) -> int:
    """Past the brace that closes the one at `start`, or -1. In ICU '{' in apostrophes is text."""
    depth, position = 0, start
    while position < len(text):
        letter = text[position]
        if letter == "'" and text[position + 1 : position + 2] in ("{", "}") and text[position - 1 : position] != "'":
            quoted = text.find("'", position + 1)
            position = quoted if quoted > 0 else position
        elif letter in "{}":
            depth += 1 if letter == "{" else -1
            if depth == 0:
                return position + 1
        position += 1
    return -1


def compare_placeholders(source: str, target: str) -> Difference:
    """What the target lacks and has beyond those of the source, and whether its tag pairs are whole."""
    return difference(find_placeholders(source), find_placeholders(target))


def difference(wanted: Sequence[Placeholder], there: Sequence[Placeholder]) -> Difference:
    elements = {p.key for p in wanted if p.kind == "element"} & {p.key for p in there if p.kind == "element"}
    wanted, there = ([half for p in side for half in _halves(p, elements)] for side in (wanted, there))
    counts, found = Counter(p.key for p in wanted), Counter(p.key for p in there)
    missing, added = tuple((counts - found).elements()), tuple((found - counts).elements())
    pairs = [sum(p.role == "open" for p in placeholders) for placeholders in (wanted, there)]
    return Difference(missing, added, disorder=not missing and not added and pairs[0] != pairs[1])


def _halves(placeholder: Placeholder, elements: set[str]) -> list[Placeholder]:
    """An empty element as the tag pair that it also is, unless both sides have it: <b></b> of <b>x</b>."""
    if placeholder.kind != "element" or placeholder.key in elements:
        return [placeholder]
    cut = placeholder.start + placeholder.text.index("</")
    opening = Placeholder(placeholder.start, cut, "open tag", placeholder.text[: cut - placeholder.start], pair=1)
    return [
        opening,
        Placeholder(cut, placeholder.end, "close tag", placeholder.text[cut - placeholder.start :], pair=0),
    ]


def _url_end(text: str, start: int, end: int) -> int:
    """A URL ends before the punctuation of its sentence, and before a bracket that opens outside it."""
    while end > start:
        last = text[end - 1]
        unopened = last in ")]}" and text.count(last, start, end) > text.count("([{"[")]}".index(last)], start, end)
        if last not in TRAILING and not unopened:
            break
        end -= 1
    return end


def _paired(found: list[Placeholder]) -> list[Placeholder]:
    """Opening and closing tags of one name are pairs where they nest; each knows the index of the other."""
    open_tags: list[int] = []
    pairs: dict[int, int] = {}
    for index, placeholder in enumerate(found):
        if placeholder.kind == "open tag":
            open_tags.append(index)
        elif placeholder.kind == "close tag":
            name = _tag_name(placeholder)
            same = [at for at, other in enumerate(open_tags) if _tag_name(found[other]) == name]
            if same:
                other = open_tags[same[-1]]
                pairs |= {index: other, other: index}
                del open_tags[same[-1] :]  # what was opened since then stands alone
    return [replace(p, pair=pairs[index]) if index in pairs else p for index, p in enumerate(found)]


def _tag_name(placeholder: Placeholder) -> str:
    return re.sub(r"[<>/]", " ", placeholder.text).split()[0]
