"""How CTranslate2 names the entries of a model's vocabularies, and which rows of the model they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.data.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True)
class Entries:
    """A vocabulary as CTranslate2 shall know it: the name of each entry and which row of the model it is."""

    names: Sequence[str]
    rows: Sequence[int | None]  # None: the model has none; such an entry is never written
    silent: Sequence[int] = ()  # entries with a row that are never written either


@dataclass(frozen=True)
class Vocabularies:
    """Both sides, and the names of the marks."""

    source: Entries
    target: Entries
    bos: str
    eos: str
    unknown: str
    adds_eos: bool = False  # to each source


def vocabularies_of_ids(source_size: int, target_size: int) -> Vocabularies:
    """Each entry is named by its id."""
    source, target = (Entries([str(i) for i in range(size)], range(size)) for size in (source_size, target_size))
    return Vocabularies(source, target, str(BOS), str(EOS), str(PAD))
