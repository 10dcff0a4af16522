"""What an output must hold: symbols of the source's placeholders, each once and in legal order, and forced phrases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from regard.data.vocabulary import EOS


@dataclass(frozen=True)
class Phrase:
    """Tokens that must follow each other somewhere, in one of several spellings.

    `glued`: spellings that do not begin with the space before their first word; they stand where no word goes on.
    `bounded`: the phrase ends with a word, so that what follows must not be a part of that word.
    """

    spellings: tuple[tuple[int, ...], ...]
    glued: tuple[tuple[int, ...], ...] = ()
    bounded: bool = True


@dataclass(frozen=True)
class Constraints:
    """Of one sentence."""

    symbols: frozenset[int] = frozenset()  # each exactly once
    closes: Mapping[int, int] = field(default_factory=dict)  # closing symbol → its opening symbol
    unknown: frozenset[int] = frozenset()  # symbols that the source lacks: never
    phrases: tuple[Phrase, ...] = ()
    word_ends: np.ndarray | None = None  # (V,) True: a word that begins after this token needs no space
    word_goes_on: np.ndarray | None = None  # (V,) True: the token continues the word before it

    def __bool__(self) -> bool:
        return bool(self.symbols or self.phrases or self.unknown)

    @property
    def count(self) -> int:
        return len(self.symbols) + len(self.phrases)

    def holds_symbols(self, tokens: Sequence[int]) -> bool:
        """Whether each symbol is there once, in legal order. Phrases are another matter: a text may inflect them."""
        progress = ConstraintProgress()
        for token in tokens:
            if token in self.symbols or token in self.unknown:
                if token in self.unknown or not self.legal(progress, token):
                    return False
                progress = progress.place(token, self.closes)
        return progress.placed == self.symbols

    def legal(self, progress: ConstraintProgress, symbol: int) -> bool:
        """Whether this symbol may come now: not twice, and tags close in the order in which they nest."""
        if symbol in progress.placed:
            return False
        opening = self.closes.get(symbol)
        return opening is None or progress.open[-1:] == (opening,)


@dataclass(frozen=True)
class ConstraintProgress:
    """How far a hypothesis has met its constraints."""

    placed: frozenset[int] = frozenset()  # symbols
    open: tuple[int, ...] = ()  # symbols of tags that are not closed yet, innermost last
    met: frozenset[int] = frozenset()  # phrases
    inside: tuple[int, tuple[int, ...]] | None = None  # a phrase that has begun, and the tokens that complete it
    ending: bool = False  # the last token ended a phrase that ends with a word

    @property
    def bank(self) -> tuple[int, int]:
        """Hypotheses that have met as much compete with each other alone (Post & Vilar 2018): how many constraints are
        met, and, inside a phrase, how many tokens are left."""
        return len(self.placed) + len(self.met), len(self.inside[1]) if self.inside else 0

    @classmethod
    def of(cls, prefix: Sequence[int], constraints: Constraints) -> ConstraintProgress:
        """After the tokens that the output must begin with."""
        progress = cls()
        for token in prefix:
            progress = progress.after(token, constraints)
        return progress

    def complete(self, constraints: Constraints) -> bool:
        return len(self.placed) + len(self.met) == constraints.count and not self.open

    def place(self, symbol: int, closes: Mapping[int, int]) -> ConstraintProgress:
        openings = set(closes.values())
        opened = (*self.open, symbol) if symbol in openings else self.open[:-1] if symbol in closes else self.open
        return replace(self, placed=self.placed | {symbol}, open=opened, inside=None, ending=False)

    def after(self, token: int, constraints: Constraints) -> ConstraintProgress:
        """After a token that was chosen for its own sake: a phrase that it does not go on with is given up."""
        if token in constraints.symbols:
            return self.place(token, constraints.closes)
        if self.inside is not None and self.inside[1][0] == token:
            return self.begin(*self.inside, constraints)
        return replace(self, inside=None, ending=False)

    def begin(self, phrase: int, tokens: tuple[int, ...], constraints: Constraints) -> ConstraintProgress:
        """After the first of these tokens, the rest of which complete the phrase."""
        if len(tokens) > 1:
            return replace(self, inside=(phrase, tokens[1:]), ending=False)
        ending = constraints.phrases[phrase].bounded
        return replace(self, met=self.met | {phrase}, inside=None, ending=ending)


def allowed(scores: np.ndarray, progress: ConstraintProgress, constraints: Constraints) -> np.ndarray:
    """Log-probabilities (V,) of what may follow: the others are -inf."""
    scores = scores.copy()
    barred = [symbol for symbol in constraints.symbols if not constraints.legal(progress, symbol)]
    barred += constraints.unknown
    if not progress.complete(constraints):
        barred.append(EOS)
    scores[barred] = -np.inf
    if progress.ending and constraints.word_goes_on is not None:
        scores[constraints.word_goes_on] = -np.inf
    return scores


def advancing(
    progress: ConstraintProgress, last: int | None, constraints: Constraints
) -> list[tuple[int, ConstraintProgress]]:
    """The tokens that meet more of the constraints, each with the progress after it."""
    if progress.inside is not None:
        phrase, tokens = progress.inside
        return [(tokens[0], progress.begin(phrase, tokens, constraints))]
    found = [
        (symbol, progress.place(symbol, constraints.closes))
        for symbol in sorted(constraints.symbols)
        if constraints.legal(progress, symbol)
    ]
    free = last is None or constraints.word_ends is None or bool(constraints.word_ends[last])
    for index, phrase in enumerate(constraints.phrases):
        if index not in progress.met:
            spellings = (*phrase.spellings, *(phrase.glued if free else ()))
            found += [(tokens[0], progress.begin(index, tokens, constraints)) for tokens in spellings]
    return found
