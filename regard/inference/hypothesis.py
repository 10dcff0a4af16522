"""What a search returns: an output and how probable the model finds it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.tokenizer import BOS, EOS, PAD


@dataclass(frozen=True)
class Hypothesis:
    """One output. Log-probabilities are the model's own, in nats, whatever was used to choose the tokens."""

    tokens: tuple[int, ...]  # without BOS and EOS
    log_prob: float  # sum of token_log_probs
    score: float  # log_prob / length^alpha, where length counts EOS
    token_log_probs: tuple[float, ...]  # one for each token, and one for EOS where it was reached
    finished: bool  # False: stopped by the length limit, before EOS


def hypothesis(tokens: list[int], log_probs: list[float], length_penalty: float) -> Hypothesis:
    """The record of generated tokens, the last of which is EOS where the output is finished."""
    finished = tokens[-1] == EOS
    total = sum(log_probs)
    return Hypothesis(
        tokens=tuple(tokens[:-1] if finished else tokens),
        log_prob=total,
        score=total / len(tokens) ** length_penalty,
        token_log_probs=tuple(log_probs),
        finished=finished,
    )


def next_log_probs(logits: Tensor) -> Tensor:
    """Log-probabilities of the token after the last: (B, T, V) → (B, V). PAD and BOS are never generated."""
    log_probs = torch.log_softmax(logits[:, -1].float(), dim=-1)
    # their mass is not spread over the others: scores stay the model's own
    log_probs[:, PAD] = -torch.inf
    log_probs[:, BOS] = -torch.inf
    return log_probs
