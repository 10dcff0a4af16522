"""Pairs of what a model knew before, among those it is trained on next: against forgetting."""

from __future__ import annotations

import random
from dataclasses import replace

from regard.config import DataSettings
from regard.data.examples import Corpus
from regard.data.files import read_pairs
from regard.errors import UserError


def with_replay(config: DataSettings, corpus: Corpus) -> Corpus:
    """The corpus with the pairs of data.replay in train: one for each pair of its own at most, drawn by data.seed."""
    if config.replay is None:
        return corpus
    if corpus.task != "translation":
        raise UserError(f"data.replay = {config.replay!r} is of translations, and this is {corpus.task}; leave it out")
    held_out = {example.source for example in (*corpus.dev, *corpus.test)}
    reading = read_pairs(config.replay)
    pairs = [example for example in reading.examples if example.source not in held_out]
    taken = pairs
    if len(pairs) > len(corpus.train):
        taken = random.Random(config.seed).sample(pairs, len(corpus.train))
    notes = [
        *reading.notes,
        f"{len(taken):,} of {len(reading.examples):,} pairs of data.replay join the training pairs",
    ]
    if len(pairs) < len(reading.examples):
        notes.append(f"{len(reading.examples) - len(pairs):,} of them are left out: their sources are in dev or test")
    skipped = [*corpus.skipped, *reading.skipped]
    return replace(corpus, train=[*corpus.train, *taken], notes=(*corpus.notes, *notes), skipped=skipped)
