"""Greedy search: at each step the most probable token of every row; and the loop that sampling shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.tokenizer import EOS
from regard.inference.hypothesis import Hypothesis, hypothesis, next_log_probs
from regard.inference.incremental.model import IncrementalModel
from regard.models.seq2seq import Record
from regard.threads import check_cancelled

Choose = Callable[[Tensor, Tensor, int], Tensor]
"""Log-probabilities (R, V) of the rows (R,) at a step, counted from 0 → the chosen tokens (R,)."""


@dataclass(frozen=True)
class Step:
    """One token for every row that still grows: (R,) each."""

    rows: Tensor  # which row of the input
    tokens: Tensor
    log_probs: Tensor


def greedy_search(
    model: IncrementalModel, memory: Record, first: Tensor, limits: Tensor, length_penalty: float
) -> list[list[Hypothesis]]:
    """The most probable token at every step.

    first (B, P): BOS and what is forced after it. limits (B,): most tokens to generate, EOS included.
    """
    return [[single] for single in grow(model, memory, first, limits, length_penalty, most_probable)]


def most_probable(log_probs: Tensor, rows: Tensor, step: int) -> Tensor:
    """What greedy search chooses."""
    if log_probs.device.type != "cpu":
        return log_probs.argmax(-1)
    # a tenth of torch's time: docs/experiments/decoding-speed.md#a-thread-for-each-batch
    return torch.from_numpy(log_probs.numpy().argmax(-1))


def grow(
    model: IncrementalModel, memory: Record, first: Tensor, limits: Tensor, length_penalty: float, choose: Choose
) -> list[Hypothesis]:
    """Every row grows to its end."""
    return _collected(list(steps(model, memory, first, limits, choose)), first.shape[0], length_penalty)


def steps(model: IncrementalModel, memory: Record, first: Tensor, limits: Tensor, choose: Choose) -> Iterator[Step]:
    """Every row grows by one token a step, and leaves the batch when it reaches EOS or its limit."""
    rows = torch.arange(first.shape[0], device=first.device)  # which row of the input each row of the batch still is
    shortest, length = int(limits.min()), 0

    logits, state = model.step(first, memory, model.start(memory))
    while True:
        check_cancelled()
        scores = next_log_probs(logits)  # (R, V)
        chosen = choose(scores, rows, length)  # (R,)
        yield Step(rows, chosen, scores.gather(1, chosen.unsqueeze(1)).squeeze(1))
        length += 1
        ended = chosen == EOS
        if length >= shortest:
            ended |= limits[rows] <= length
        if bool(ended.all()):
            return
        if bool(ended.any()):
            staying = (~ended).nonzero().squeeze(1)
            rows, chosen = rows[staying], chosen[staying]
            memory, state = memory.select(staying), state.select(staying)
        logits, state = model.step(chosen.unsqueeze(1), memory, state)


def _collected(steps: list[Step], size: int, length_penalty: float) -> list[Hypothesis]:
    """The tokens of all steps, row by row."""
    rows, tokens, log_probs = (torch.cat([getattr(step, name) for step in steps]) for name in Step.__annotations__)
    order = rows.argsort(stable=True)  # a row's tokens stay in the order of the steps
    lengths = rows.bincount(minlength=size).tolist()
    by_row = zip(tokens[order].split(lengths), log_probs[order].split(lengths), strict=True)
    return [hypothesis(ids.tolist(), logs.tolist(), length_penalty) for ids, logs in by_row]
