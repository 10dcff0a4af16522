"""Ancestral sampling with temperature, top-k and top-p."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor

from regard.config import SearchSettings
from regard.inference.greedy import Choose, grow
from regard.inference.hypothesis import Hypothesis
from regard.inference.incremental.model import IncrementalModel
from regard.models.seq2seq import Record

FEW = 256  # tokens that mostly hold top_p together; finding them is 6 times as fast as sorting 8,000


def sentence_seed(seed: int, source: Sequence[object], prefix: Sequence[int]) -> int:
    """A seed made of the run's seed and the sentence itself.

    So a sentence draws the same samples alone, in any batch, at any index of the input; equal sentences draw equal
    samples (ask for n_best, or change the seed, for others).
    """
    text = f"{seed}|{list(source)}|{list(prefix)}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "big")


def sample(
    model: IncrementalModel,
    memory: Record,
    first: Tensor,
    limits: Tensor,
    seeds: Sequence[int],
    config: SearchSettings,
) -> list[list[Hypothesis]]:
    """n_best independent samples a sentence, best score first. Shapes as in `greedy_search`; one seed a sentence."""
    samples = config.n_best
    repeated = torch.arange(first.shape[0], device=first.device).repeat_interleave(samples)  # (B·N,)
    limits = limits[repeated]
    choose = drawing(seeds, samples, int(limits.max()), first.device, config)
    drawn = grow(model, memory.select(repeated), first[repeated], limits, config.length_penalty, choose)
    grouped = [drawn[start : start + samples] for start in range(0, len(drawn), samples)]
    return [sorted(group, key=lambda hypothesis: -hypothesis.score) for group in grouped]


def drawing(seeds: Sequence[int], samples: int, steps: int, device: torch.device, config: SearchSettings) -> Choose:
    """Draws a token for every row at every step; the draws are fixed beforehand."""
    uniform = _draws(seeds, samples, steps).to(device)

    def draw(log_probs: Tensor, rows: Tensor, step: int) -> Tensor:
        probabilities, ids = candidates(log_probs, config.temperature, config.top_k, config.top_p)
        index = quantile(probabilities, uniform[rows, step])
        return index if ids is None else ids.gather(1, index.unsqueeze(1)).squeeze(1)

    return draw


def candidates(log_probs: Tensor, temperature: float, top_k: int, top_p: float) -> tuple[Tensor, Tensor | None]:
    """The probabilities of the tokens that may be drawn and their ids, (R, K) each.

    Of the k likeliest tokens these are the fewest that reach p.
    Without either limit all tokens stay in their order, and no ids are returned: sorting a vocabulary is slow.
    """
    probabilities = torch.softmax(log_probs.double() / temperature, dim=-1)
    if top_k == 0 and top_p == 1:
        return probabilities, None
    size = probabilities.shape[-1]
    likeliest, ids = probabilities.topk(min(top_k or FEW, size), dim=-1)
    if top_k:
        likeliest = likeliest / likeliest.sum(-1, keepdim=True)
    elif likeliest.sum(-1).min() < top_p:  # some row needs more than a few tokens to reach p
        likeliest, ids = probabilities.sort(dim=-1, descending=True)
    before = likeliest.cumsum(-1) - likeliest
    return likeliest.masked_fill(before >= top_p, 0), ids


def quantile(probabilities: Tensor, uniform: Tensor) -> Tensor:
    """The index in each row where the cumulated probability passes u of its total: (R, K), (R,) → (R,)."""
    cumulated = probabilities.cumsum(-1)
    threshold = uniform.unsqueeze(1) * cumulated[:, -1:]
    index = torch.searchsorted(cumulated, threshold, right=True).squeeze(1)
    # rounding may put the threshold onto the total: then the last index that has any probability
    indices = torch.arange(probabilities.shape[1], device=probabilities.device)
    last = torch.where(probabilities > 0, indices, -1).amax(-1)
    return torch.minimum(index, last)


def _draws(seeds: Sequence[int], samples: int, steps: int) -> Tensor:
    """All random numbers beforehand, a generator for each sample: (B·N, steps), uniform on [0, 1)."""
    generator = torch.Generator()
    rows = []
    for seed in seeds:
        for number in range(samples):
            generator.manual_seed(seed + number)
            rows.append(torch.rand(steps, generator=generator, dtype=torch.float64))
    return torch.stack(rows)
