"""One token a step for every row: the most probable one, or whatever `choose` says (sampling)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from regard.data.tokenizer import EOS
from regard.decoding.hypothesis import Hypothesis, hypothesis, next_log_probs
from regard.models.seq2seq import Memory, Model

Choose = Callable[[Tensor, Tensor, int], Tensor]
"""Log-probabilities (R, V) of the rows (R,) at a step, counted from 0 → the chosen tokens (R,)."""


def greedy_search(
    model: Model, memory: Memory, first: Tensor, limits: Tensor, length_penalty: float
) -> list[list[Hypothesis]]:
    """The most probable token at every step.

    first (B, P): BOS and what is forced after it. limits (B,): most tokens to generate, EOS included.
    """

    def most_probable(log_probs: Tensor, rows: Tensor, step: int) -> Tensor:
        return log_probs.argmax(-1)

    return [[single] for single in grow(model, memory, first, limits, length_penalty, most_probable)]


def grow(
    model: Model, memory: Memory, first: Tensor, limits: Tensor, length_penalty: float, choose: Choose
) -> list[Hypothesis]:
    """Every row grows by one token a step, and leaves the batch when it reaches EOS or its limit."""
    size = first.shape[0]
    rows = torch.arange(size, device=first.device)  # which row of the input each row of the batch still is
    tokens = first.new_zeros(size, int(limits.max()))
    log_probs = torch.zeros(tokens.shape, device=first.device)
    lengths = limits.clone()

    logits, state = model.step(first, memory, model.start(memory))
    for step in range(tokens.shape[1]):
        scores = next_log_probs(logits)  # (R, V)
        chosen = choose(scores, rows, step)  # (R,)
        tokens[rows, step] = chosen
        log_probs[rows, step] = scores.gather(1, chosen.unsqueeze(1)).squeeze(1)
        ended = chosen == EOS
        lengths[rows[ended]] = step + 1
        staying = (~ended & (limits[rows] > step + 1)).nonzero().squeeze(1)
        if len(staying) == 0:
            break
        if len(staying) < len(rows):
            rows, chosen = rows[staying], chosen[staying]
            memory, state = memory.select(staying), state.select(staying)
        logits, state = model.step(chosen.unsqueeze(1), memory, state)

    ends = lengths.tolist()
    return [
        hypothesis(row[:end], log[:end], length_penalty)
        for row, log, end in zip(tokens.tolist(), log_probs.tolist(), ends, strict=True)
    ]
