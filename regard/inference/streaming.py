"""Streaming: one output, token by token, as the search finds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from regard.config import SearchSettings
from regard.data.sources import Source
from regard.data.vocabulary import BOS, EOS
from regard.inference.batching import AnyModel, device_of, generation_limit, pad_sources
from regard.inference.greedy import most_probable, steps
from regard.inference.hypothesis import Hypothesis, hypothesis
from regard.inference.incremental.model import stepwise
from regard.inference.sampling import drawing, sentence_seed


@torch.inference_mode()  # of each step, not of what the caller does between two
def stream(model: AnyModel, source: Source, config: SearchSettings, prefix: Sequence[int] = ()) -> Iterator[Hypothesis]:
    """The growing hypothesis after each token, by greedy search or as one sample; the last is that of the search.

    The model is in evaluation mode. A beam search cannot stream: its best hypothesis may change to the last step.
    """
    assert not model.training and (config.beams == 1 or config.sample)
    incremental = stepwise(model)
    ids, mask = pad_sources([source], device_of(model))
    first = torch.tensor([[BOS, *prefix]], device=ids.device)
    limit = generation_limit(model, source, first.shape[1], config)
    choose = most_probable
    if config.sample:
        choose = drawing([sentence_seed(config.seed, source, prefix)], 1, limit, first.device, config)
    tokens: list[int] = []
    log_probs: list[float] = []
    limits = torch.tensor([limit], device=ids.device)
    for step in steps(incremental, incremental.encode(ids, mask), first, limits, choose):
        tokens.append(int(step.tokens))
        log_probs.append(float(step.log_probs))
        yield hypothesis(tokens, log_probs, config.length_penalty)
        if tokens[-1] == EOS:
            return
