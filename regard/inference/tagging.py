"""Tags of many texts: one forward pass a batch, a label from each output of the encoder."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from regard.data.sources import Source
from regard.data.vocabulary import BOS
from regard.inference.batching import (
    ProgressCallback,
    TooLong,
    device_of,
    evaluating,
    pad_sources,
    plan_batches,
    too_long,
)
from regard.models.seq2seq import Model

TagGuess = tuple[int, float]  # id and probability of the most probable tag


def tag(
    model: Model, sources: Sequence[Source], batch_tokens: int = 4096, progress: ProgressCallback | None = None
) -> list[tuple[TagGuess, ...] | TooLong]:
    """The most probable tag of each word of each source, or the reason why there is none; in input order."""
    results: list[tuple[TagGuess, ...] | TooLong | None] = [too_long(model, source) for source in sources]
    rows = [row for row, problem in enumerate(results) if problem is None]
    for indices in plan_batches([len(sources[row]) + 1 for row in rows], batch_tokens):
        batch = [rows[index] for index in indices]
        with evaluating(model):
            source, mask = pad_sources([sources[row] for row in batch], device_of(model))
            words = torch.full((len(batch), source.shape[1] - 1), BOS, device=source.device)  # all but the end
            best = torch.softmax(model(source, mask, words).float(), dim=-1).max(-1)
        for row, ids, probabilities in zip(batch, best.indices.tolist(), best.values.tolist(), strict=True):
            count = len(sources[row])
            results[row] = tuple(zip(ids[:count], probabilities[:count], strict=True))
        if progress is not None:
            progress(len(batch))
    return [result for result in results if result is not None]
