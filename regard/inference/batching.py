"""Many sentences in, their hypotheses out in the same order: batches, limits, and what is too long."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from regard.config import SearchSettings
from regard.data.lexicon import Lexicon
from regard.data.sources import Source
from regard.data.sources import pad_sources as padded_arrays
from regard.data.vocabulary import BOS
from regard.inference.beam import beam_search
from regard.inference.greedy import greedy_search
from regard.inference.hypothesis import Hypothesis
from regard.inference.incremental.model import IncrementalModel, stepwise
from regard.inference.sampling import sample, sentence_seed
from regard.inference.shortlist import ShortListed
from regard.models.seq2seq import Model
from regard.nn.taps import watched
from regard.threads import ThreadPool

FEW, SHORT, SMALL = 8, 100, 2**22  # rows, tokens, numbers of an output layer: up to here one thread is as fast as two
AnyModel = Model | IncrementalModel
ProgressCallback = Callable[[int], None]
"""Called after each batch with the number of sentences that it held."""


@dataclass(frozen=True)
class TooLong:
    """A row that the model cannot take, in place of its result: nothing is ever cut."""

    side: Literal["source", "prefix", "source and prefix"]  # the last: of a model that reads both in one row
    tokens: int  # EOS of a source and BOS of a target included
    limit: int

    def __str__(self) -> str:
        return f"{self.side} of {self.tokens} tokens, the model takes {self.limit}; split it"


@contextmanager
def evaluating(model: AnyModel) -> Iterator[None]:
    """Evaluation mode without gradients, and back to the mode there was. A model that says it is in it is taken at its
    word: a walk through its modules takes a tenth of the time of one sentence."""
    training = model.training
    if training:
        model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        if training:
            model.train()


def too_long(model: AnyModel, source: Source, prefix: Sequence[int] = ()) -> TooLong | None:
    """Whether the model's positions end before this row does (source without EOS, prefix without BOS)."""
    reads, begins = len(source) + 1, len(prefix) + 1
    if model.max_source is not None and reads > model.max_source:
        return TooLong("source", reads, model.max_source)
    if model.max_target is not None and begins > model.max_target:
        return TooLong("prefix", begins, model.max_target)
    if model.max_total is not None and reads + begins > model.max_total:
        return TooLong("source and prefix", reads + begins, model.max_total)
    return None


def decode(
    model: AnyModel,
    sources: Sequence[Source],
    config: SearchSettings,
    prefixes: Sequence[Sequence[int]] | None = None,
    progress: ProgressCallback | None = None,
    lexicon: Lexicon | None = None,
) -> list[list[Hypothesis] | TooLong]:
    """The n_best hypotheses of each source, or the reason why there are none; in the order of the input.

    sources: ids without EOS, or images. prefixes: target ids that each output must begin with (and that are not
    returned); a language model continues them. An empty source is a source like any other. lexicon: what
    config.short_list takes its lists from.
    """
    prefixes = prefixes if prefixes is not None else [()] * len(sources)
    assert len(prefixes) == len(sources), "one prefix for each source"
    results: list[list[Hypothesis] | TooLong | None] = [
        too_long(model, source, prefix) for source, prefix in zip(sources, prefixes, strict=True)
    ]
    rows = [row for row, problem in enumerate(results) if problem is None]
    steps, parallel = stepwise(model), _parallel_batches(model)
    sizes = {row: (len(sources[row]) + 1, len(prefixes[row]) + 1) for row in rows}
    batches = _batches(sizes, parallel, config)
    tasks = (
        partial(
            _decode_batch, steps, [sources[row] for row in batch], [prefixes[row] for row in batch], config, lexicon
        )
        for batch in batches
    )
    longest = max((max(sizes[row]) for row in rows), default=0)
    workers, threads = _workers_and_threads(steps, batches, longest, parallel, config)
    with evaluating(model), ThreadPool(workers, threads) as pool:
        for batch, hypotheses in zip(batches, pool.imap(tasks), strict=True):
            for row, row_hypotheses in zip(batch, hypotheses, strict=True):
                results[row] = row_hypotheses
            if progress is not None:
                progress(len(batch))
    return [result for result in results if result is not None]


def _parallel_batches(model: AnyModel) -> int:
    """How many batches are searched in parallel. Small operations lose more at the barriers of two threads than they
    gain, so two batches have half of the threads each: if the number is even and no tap is watched."""
    whole = torch.get_num_threads() % 2 or watched() or device_of(model).type != "cpu"
    return 1 if whole else 2


def _workers_and_threads(
    model: IncrementalModel, batches: Sequence[Sequence[int]], longest: int, parallel: int, config: SearchSettings
) -> tuple[int, int]:
    """Batches searched in parallel, and torch's threads for each. A single row, or a few with a shortlist, is faster
    with one thread (docs/experiments/decoding-speed.md#peers-that-end-where-the-model-does), unless the text is long
    or the output layer large."""
    threads = torch.get_num_threads()
    if len(batches) > 1:
        return parallel, threads // parallel
    rows = sum(map(len, batches)) * (config.n_best if config.sample else config.beams)
    small = config.short_list or model.output.size <= SMALL
    alone = small and longest <= SHORT and rows <= (FEW if config.short_list else 1)
    return 1, 1 if alone else threads


def _batches(sizes: Mapping[int, tuple[int, int]], parallel: int, config: SearchSettings) -> list[list[int]]:
    """Rows whose prefixes have one length, so that a single step reads them without padding. sizes: tokens of each
    row's source and prefix, with their marks. What fits in one batch is not split, and the tokens of a shortlist
    do not depend on the threads."""
    budget = config.batch_tokens // (config.n_best if config.sample else config.beams)
    groups: dict[int, list[int]] = defaultdict(list)
    for row, (_, prefix) in sizes.items():
        groups[prefix].append(row)
    parts = parallel if len(groups) == 1 and not config.short_list else 1  # several groups are batches already
    batches = []
    for prefix in sorted(groups, reverse=True):
        lengths = [max(sizes[row]) for row in groups[prefix]]
        planned = list(plan_batches(lengths, budget))
        if parts > 1 and len(planned) > 1:
            usual = max(budget * len(lengths) // sum(lengths), 1)
            planned = list(plan_batches(lengths, budget, parts, usual))
        batches += [[groups[prefix][index] for index in indices] for indices in planned]
    return batches


def classify(
    model: Model, sources: Sequence[Source], batch_tokens: int = 4096, progress: ProgressCallback | None = None
) -> list[tuple[float, ...] | TooLong]:
    """The probability of each class (C of them) for each source, or the reason why there is none; in input order."""
    results: list[tuple[float, ...] | TooLong | None] = [too_long(model, source) for source in sources]
    rows = [row for row, problem in enumerate(results) if problem is None]
    for indices in plan_batches([len(sources[row]) + 1 for row in rows], batch_tokens):
        batch = [rows[index] for index in indices]
        with evaluating(model):
            source, mask = pad_sources([sources[row] for row in batch], device_of(model))
            begin = torch.full((len(batch), 1), BOS, device=source.device)
            probabilities = torch.softmax(model(source, mask, begin)[:, 0].float(), dim=-1)  # (B, C)
        for row, values in zip(batch, probabilities.tolist(), strict=True):
            results[row] = tuple(values)
        if progress is not None:
            progress(len(batch))
    return [result for result in results if result is not None]


def plan_batches(
    lengths: Sequence[int], batch_tokens: int, threads: int = 1, most: int | None = None
) -> Iterator[list[int]]:
    """Places of rows of like length, longest first: rows × longest ≤ batch_tokens, and one row at least. For several
    threads a batch is one's share of what is left, but no more than `most` rows, and half of that at least where the
    budget and the input allow: the last ones are smaller, so that threads end together."""
    most = most or max(len(lengths), 1)
    batch: list[int] = []
    size, few = 0, min((most + 1) // 2, -(-len(lengths) // threads))
    for number, index in enumerate(sorted(range(len(lengths)), key=lambda index: -lengths[index])):
        if batch and (len(batch) == size or lengths[batch[0]] * (len(batch) + 1) > batch_tokens):
            yield batch
            batch = []
        if not batch:
            left = len(lengths) - number
            size = left if 2 * left < 3 * few else min(most, max(-(-left // threads), few))
        batch.append(index)
    if batch:
        yield batch


def pad_sources(sources: Sequence[Source], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids with EOS appended, (B, S), and their mask, True = real; or the rows and mask of images."""
    rows, mask = padded_arrays(sources)
    return torch.from_numpy(rows).to(device), torch.from_numpy(mask).to(device)


def device_of(model: AnyModel) -> torch.device:
    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))


def _decode_batch(
    model: IncrementalModel,
    sources: list[Source],
    prefixes: list[Sequence[int]],
    config: SearchSettings,
    lexicon: Lexicon | None,
) -> list[list[Hypothesis]]:
    """One batch, whose prefixes are of one length, with the tokens that the lexicon gives for it alone where a short
    list is asked for."""
    with torch.inference_mode():  # of this thread
        if not config.short_list:
            return _searched(model, sources, prefixes, config)
        assert lexicon is not None, "a shortlist needs a lexicon"
        ids = lexicon.candidates(sources, [token for prefix in prefixes for token in prefix])
        listed = ShortListed(model, torch.from_numpy(ids).to(device_of(model)))
        begun = [np.searchsorted(ids, np.asarray(prefix, dtype=np.int64)).tolist() for prefix in prefixes]
        return listed.with_model_ids(_searched(listed, sources, begun, config))


def _searched(
    model: IncrementalModel, sources: list[Source], prefixes: list[Sequence[int]], config: SearchSettings
) -> list[list[Hypothesis]]:
    source, mask = pad_sources(sources, device_of(model))
    first = torch.tensor([[BOS, *prefix] for prefix in prefixes], device=source.device)  # (B, P)
    limits = torch.tensor(
        [generation_limit(model, row, first.shape[1], config) for row in sources], device=source.device
    )
    memory = model.encode(source, mask)
    if config.sample:
        seeds = [sentence_seed(config.seed, row, prefix) for row, prefix in zip(sources, prefixes, strict=True)]
        return sample(model, memory, first, limits, seeds, config)
    if config.beams == 1:
        return greedy_search(model, memory, first, limits, config.length_penalty)
    return beam_search(model, memory, first, limits, config)


def generation_limit(model: AnyModel, source: Source, first: int, config: SearchSettings) -> int:
    """Most tokens to generate, EOS included; the model reads all of them but the last, after `first` others."""
    limits = [config.max_tokens or 2 * len(source) + 50]
    if model.max_target is not None:
        limits.append(model.max_target - first + 1)
    if model.max_total is not None:
        limits.append(model.max_total - (len(source) + 1) - first + 1)
    return min(limits)
