"""Masked texts: a symbol of the vocabulary stands for each placeholder, and the text gets them back afterwards.

    Hello <b>{name}</b>, see %s.   ↔   Hello ⟨g1⟩⟨1⟩⟨/g1⟩, see ⟨2⟩.

Symbols are numbered by the order of the source: for values ({name}, %s, URLs), for marks (<br/>, &amp;) and for tag
pairs. In a training pair the target's placeholders have the numbers of the source's, so that a model learns to place
them. In a string a symbol is a character of a private plane; in the vocabulary it is an entry after all others.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from regard.data.examples import Example
from regard.data.icu import assignments, has_choice, parse_message, resolve
from regard.data.placeholders import Placeholder, difference, find_placeholders

FIRST = {"value": 0x10F800, "mark": 0x10F900, "open": 0x10FA00, "close": 0x10FB00}  # the symbols of each role
MOST_SYMBOLS = 64  # of a role
SEEN = 10  # training pairs that must hold so many placeholders of a role for the last one to get a symbol
SYMBOL = re.compile(r"([\U0010F800-\U0010FBFF])")

AFTER = re.compile(r"""[\s.,;:!?)\]}>»"'…。、<]""")  # what ends a placeholder without a space


@dataclass(frozen=True)
class MaskedText:
    """A text with symbols, and what they stand for. What the vocabulary has no symbol for is left as it was."""

    text: str
    originals: dict[str, str]  # symbol → placeholder

    def restore(self, output: str) -> str:
        """The output of a model with the source's placeholders. A symbol that the source lacks becomes nothing.

        Where a placeholder would be another one with what stands beside it, as a URL with letters after it, a space
        keeps them apart.
        """
        text = SYMBOL.sub(lambda match: self.originals.get(match.group(), ""), output)
        restored = Counter(self.originals[symbol] for symbol in SYMBOL.findall(output) if symbol in self.originals)
        if not restored - Counter(placeholder.text for placeholder in find_placeholders(text)):
            return text
        parts = SYMBOL.split(output)  # texts at even indices, symbols between them
        for at in range(1, len(parts), 2):
            if parts[at] in self.originals and parts[at] < chr(FIRST["mark"]):
                before, after = "".join(parts[:at])[-1:], (parts[at + 1] or "".join(parts[at + 2 : at + 3]))[:1]
                space = " " if before and not before.isspace() else ""
                parts[at] = f"{space}{self.originals[parts[at]]}" + (" " if after and not AFTER.match(after) else "")
        return "".join(self.originals.get(part, "") if SYMBOL.fullmatch(part) else part for part in parts)


@dataclass(frozen=True)
class PlaceholderSymbols:
    """How many symbols a vocabulary has for each role. Pairs have two each."""

    values: int = 0
    marks: int = 0
    pairs: int = 0

    @cached_property
    def characters(self) -> tuple[str, ...]:
        """All symbols in the order of their ids."""
        counts = {"value": self.values, "mark": self.marks, "open": self.pairs, "close": self.pairs}
        return tuple(chr(FIRST[role] + number) for role, count in counts.items() for number in range(count))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """How they are shown: ⟨1⟩ values, ⟨m1⟩ marks, ⟨g1⟩ ⟨/g1⟩ pairs."""
        counts = {"": self.values, "m": self.marks, "g": self.pairs, "/g": self.pairs}
        return tuple(f"⟨{name}{number + 1}⟩" for name, count in counts.items() for number in range(count))

    def mask(self, text: str) -> MaskedText:
        """A source."""
        placeholders = find_placeholders(text)
        return _masked(text, placeholders, self.numbered(placeholders))

    def mask_pair(self, example: Example) -> Example | None:
        """A training pair; None where its sides hold different placeholders, so that nothing can be learned of them."""
        sources, targets = find_placeholders(example.source), find_placeholders(example.target)
        if not sources and not targets:
            return example
        if difference(sources, targets):
            return None
        symbols = self.numbered(sources)
        twins: dict[tuple[str, str], list[str | None]] = defaultdict(list)
        for placeholder, symbol in zip(sources, symbols, strict=True):
            twins[placeholder.role, placeholder.key].append(symbol)
        numbered: list[str | None] = []
        for placeholder in targets:
            if placeholder.role == "close" and placeholder.pair is not None:
                opening = numbered[placeholder.pair]
                numbered.append(None if opening is None else chr(ord(opening) - FIRST["open"] + FIRST["close"]))
            elif twins[placeholder.role, placeholder.key]:
                numbered.append(twins[placeholder.role, placeholder.key].pop(0))
            else:
                return None
        source, target = _masked(example.source, sources, symbols), _masked(example.target, targets, numbered)
        return Example(source.text, target.text)

    @staticmethod
    def pairs_of(symbols: Iterable[str]) -> dict[str, str]:
        """Of the closing ones among these, the opening ones."""
        move = FIRST["close"] - FIRST["open"]
        return {symbol: chr(ord(symbol) - move) for symbol in symbols if ord(symbol) >= FIRST["close"]}

    def numbered(self, placeholders: Sequence[Placeholder]) -> list[str | None]:
        """The symbol of each; None beyond those that there are."""
        room = {"value": self.values, "mark": self.marks, "open": self.pairs}
        counts: Counter[str] = Counter()
        symbols: list[str | None] = []
        for placeholder in placeholders:
            if placeholder.role == "close" and placeholder.pair is not None:
                opening = symbols[placeholder.pair]
                symbols.append(None if opening is None else chr(ord(opening) - FIRST["open"] + FIRST["close"]))
                continue
            number = counts[placeholder.role]
            counts[placeholder.role] += 1
            symbols.append(chr(FIRST[placeholder.role] + number) if number < room[placeholder.role] else None)
        return symbols


@dataclass(frozen=True)
class MaskedPairs:
    """Training pairs with symbols. A message with choices is a pair for each combination of branches."""

    examples: list[Example]
    indices: list[int]  # of each, the example that it was made of
    differing: frozenset[int]  # examples whose sides hold different placeholders: they stay as they were


def mask_pairs(examples: Sequence[Example], symbols: PlaceholderSymbols) -> MaskedPairs:
    masked: list[Example] = []
    indices: list[int] = []
    differing = set()
    for index, example in enumerate(examples):
        for branch in branches(example):
            pair = symbols.mask_pair(branch)
            if pair is None:
                differing.add(index)
            masked.append(pair or branch)
            indices.append(index)
    return MaskedPairs(masked, indices, frozenset(differing))


def branches(example: Example) -> list[Example]:
    """The pair itself; of an ICU message with choices a pair for each combination of the source's branches."""
    if not has_choice(example.source):
        return [example]
    source, target = parse_message(example.source), parse_message(example.target)
    made = None if source is None or target is None else assignments(source)
    if source is None or target is None or made is None:
        return [example]
    pairs = [Example(resolve(source, one).strip(), resolve(target, one).strip()) for one in made]
    return list(dict.fromkeys(pair for pair in pairs if pair.source and pair.target)) or [example]


def count_symbols(examples: Iterable[Example]) -> PlaceholderSymbols:
    """As many symbols of each role as enough training pairs hold."""
    holding: dict[str, Counter[int]] = {role: Counter() for role in FIRST}
    for example in examples:
        for branch in branches(example):
            roles = Counter(placeholder.role for placeholder in find_placeholders(branch.source))
            for role, count in roles.items():
                holding[role].update(range(1, min(count, MOST_SYMBOLS) + 1))
    most = {
        role: max((n for n, pairs in counts.items() if pairs >= SEEN), default=0) for role, counts in holding.items()
    }
    return PlaceholderSymbols(most["value"], most["mark"], most["open"])


def _masked(text: str, placeholders: Sequence[Placeholder], symbols: Sequence[str | None]) -> MaskedText:
    parts: list[str] = []
    originals: dict[str, str] = {}
    position = 0
    for placeholder, symbol in zip(placeholders, symbols, strict=True):
        if symbol is not None:
            parts += [text[position : placeholder.start], symbol]
            originals[symbol] = placeholder.text
            position = placeholder.end
    return MaskedText("".join([*parts, text[position:]]), originals)
