"""Whether another program's tokenizer, made of ours, gives a run's own texts the same pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypeVar

from regard.errors import UserError

LEAST = 0.999  # of the pieces must be the same
Piece = TypeVar("Piece", int, str)


@dataclass(frozen=True)
class PieceIdentity:
    """Pieces of a run's development texts: how many there are, and how many the other program has, too."""

    pieces: int
    same: int
    texts: int
    same_texts: int
    example: str | None = None  # the first text that differs

    @property
    def share(self) -> float:
        return self.same / self.pieces if self.pieces else 1.0

    def __str__(self) -> str:
        differing = self.texts - self.same_texts
        counted = f"{self.same:,} of {self.pieces:,} pieces of the dev set are the same ({self.share:.2%})"
        return counted if not differing else f"{counted}; {differing:,} of {self.texts:,} texts differ"

    def require(self, force: bool) -> None:
        """Refuse what would lose too much."""
        if self.share < LEAST and not force:
            raise UserError(
                f"{self}, first {self.example!r}: below {LEAST:.1%} the model reads what it was not trained on; "
                "export to ctranslate2, which keeps the tokenizer as it is, or add --force"
            )


def compare_pieces(
    texts: Iterable[str], ours: Callable[[str], Sequence[Piece]], theirs: Callable[[str], Sequence[Piece]]
) -> PieceIdentity:
    """Count the pieces of each text that both give in the same order."""
    pieces = same = count = same_texts = 0
    example = None
    for text in texts:
        own, other = list(ours(text)), list(theirs(text))
        matched = len(own) if own == other else _matched(own, other)
        pieces, same, count, same_texts = pieces + len(own), same + matched, count + 1, same_texts + (own == other)
        if own != other and example is None:
            example = text
    return PieceIdentity(pieces, same, count, same_texts, example)


def joined(identities: Iterable[PieceIdentity]) -> PieceIdentity:
    """Of both sides together."""
    sides = list(identities)
    example = next((side.example for side in sides if side.example is not None), None)
    return PieceIdentity(
        sum(side.pieces for side in sides),
        sum(side.same for side in sides),
        sum(side.texts for side in sides),
        sum(side.same_texts for side in sides),
        example,
    )


def _matched(own: Sequence[Piece], other: Sequence[Piece]) -> int:
    return sum(block.size for block in SequenceMatcher(None, own, other, autojunk=False).get_matching_blocks())
