"""Beam search over any model, all sentences and beams at once.

Rules, those of fairseq and Vaswani 2017 in the main:
- A step looks at the 2N most probable continuations of a sentence. Those that end in EOS and are among the first N
  are finished; the N best others live on.
- score = log_prob / length^alpha, length counting EOS. It ranks finished hypotheses only: live ones have one length.
- A sentence is done when it has N finished hypotheses of which the worst that would be returned scores no less than
  the best live one does now; when no live one can still beat that one at all (a log-probability only falls, so
  log_prob / limit^alpha bounds every continuation); or at its limit. N finished alone are not enough: where a model is
  sure, N improbable early ends are found long before the right one.
- At the limit, live hypotheses fill up what is missing to n_best, marked as unfinished and ranked behind.
Therefore one beam is greedy search, and a beam as wide as the number of sequences is brute force; both are tested.
The model and the choice among its vocabulary are torch's. Who lives on is told by NumPy, whose operations on a few
numbers cost less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from regard.config import SearchConfig
from regard.data.tokenizer import EOS
from regard.decoding.hypothesis import Hypothesis, hypothesis, next_log_probs
from regard.models.seq2seq import Memory, Model


@dataclass(frozen=True)
class Beams:
    """The sentences still searched. The number of beams W starts at 1 and grows to N."""

    sentence: np.ndarray  # (B,) place in the input
    limit: np.ndarray  # (B,)
    total: np.ndarray  # (B, W) log-probability of each live hypothesis, best first; -inf: no hypothesis
    tokens: np.ndarray  # (B, W, T)
    log_probs: np.ndarray  # (B, W, T) of each token
    ended: np.ndarray  # (B,) how many have finished
    best: np.ndarray  # (B, n_best) scores of the best that have finished, best first; -inf: none yet

    def select(self, sentences: np.ndarray) -> Beams:
        return Beams(*(getattr(self, field.name)[sentences] for field in fields(self)))


def beam_search(
    model: Model, memory: Memory, first: Tensor, limits: Tensor, config: SearchConfig
) -> list[list[Hypothesis]]:
    """The n_best hypotheses of each sentence, best first (fewer only where the vocabulary allows no more).

    first (B, P): BOS and what is forced after it. limits (B,): most tokens to generate, EOS included.
    """
    found: list[list[Hypothesis]] = [[] for _ in range(first.shape[0])]
    for _ in beam_steps(model, memory, first, limits, config, found):
        pass
    return [_ranked(hypotheses)[: config.n_best] for hypotheses in found]


def beam_steps(
    model: Model, memory: Memory, first: Tensor, limits: Tensor, config: SearchConfig, found: list[list[Hypothesis]]
) -> Iterator[Beams]:
    """The search step by step: the live hypotheses after each; those that end go into `found`, a list a sentence."""
    beams = _start(limits.cpu().numpy(), config.n_best)
    logits, state = model.step(first, memory, model.start(memory))
    memory = memory.begun()
    while True:
        log_probs = next_log_probs(logits)  # (B·W, V)
        likely = log_probs.topk(
            min(2 * config.beams, log_probs.shape[1]), dim=-1
        )  # the best 2N of a sentence are there
        width = len(log_probs) // len(beams.sentence)
        beams, parent = _advance(beams, likely.values.cpu().numpy(), likely.indices.cpu().numpy(), config, found)
        yield beams
        staying = np.flatnonzero(~_done(beams, config))
        leaving = len(staying) < len(beams.sentence)
        if leaving:
            _collect_unfinished(beams, config, found)
            beams, parent = beams.select(staying), parent[staying]
        if len(staying) == 0:
            return
        rows = (staying[:, None] * width + parent).reshape(-1)  # (B·W,) in the last step's batch
        sources = torch.from_numpy(staying).to(first.device) if leaving else None
        memory = memory if sources is None else memory.select(sources)  # one row for all beams of a sentence
        state = state.rearrange(torch.from_numpy(rows).to(first.device), sources)
        tokens = torch.from_numpy(beams.tokens[:, :, -1].reshape(-1, 1)).to(first.device)
        logits, state = model.step(tokens, memory, state)


def _start(limits: np.ndarray, n_best: int) -> Beams:
    size = len(limits)
    return Beams(
        sentence=np.arange(size),
        limit=limits,
        total=np.zeros((size, 1), dtype=np.float32),
        tokens=np.zeros((size, 1, 0), dtype=np.int64),
        log_probs=np.zeros((size, 1, 0), dtype=np.float32),
        ended=np.zeros(size, dtype=np.int64),
        best=np.full((size, n_best), -np.inf, dtype=np.float32),
    )


def _advance(
    beams: Beams, last: np.ndarray, token: np.ndarray, config: SearchConfig, found: list[list[Hypothesis]]
) -> tuple[Beams, np.ndarray]:
    """Every live hypothesis grows by a token, one of the likeliest (B·W, 2N) with their log-probabilities → the new
    beams, and whom each came from (B, W)."""
    (size, width), each = beams.total.shape, last.shape[1]
    continued = (beams.total[:, :, None] + last.reshape(size, width, each)).reshape(size, -1)
    place = _highest(continued, 2 * config.beams)  # (B, 2N)
    parent = place // each
    total, last, token = (_pick(one.reshape(size, -1), place) for one in (continued, last, token))

    ending = token == EOS
    taken = ending & (total > -np.inf)
    taken[:, config.beams :] = False
    length = beams.tokens.shape[2] + 1
    ended, best = beams.ended, beams.best
    if taken.any():
        _collect(beams, taken, parent, last, config.length_penalty, found)
        scores = np.where(taken, total / length**config.length_penalty, np.float32(-np.inf))
        ended, best = ended + taken.sum(1), -np.sort(-np.concatenate((best, scores), axis=1))[:, : config.n_best]

    total = np.where(ending, np.float32(-np.inf), total)
    kept = _highest(total, config.beams)  # (B, W)
    total, parent, token, last = (_pick(one, kept) for one in (total, parent, token, last))
    whole = np.arange(size)[:, None], parent
    tokens = np.concatenate((beams.tokens[whole], token[:, :, None]), axis=2)
    log_probs = np.concatenate((beams.log_probs[whole], last[:, :, None]), axis=2)
    return Beams(beams.sentence, beams.limit, total, tokens, log_probs, ended, best), parent


def _highest(values: np.ndarray, count: int) -> np.ndarray:
    """Places of the highest of each row, highest first."""
    return np.argsort(-values, axis=1, kind="stable")[:, :count]


def _pick(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    return np.take_along_axis(values, places, axis=1)


def _done(beams: Beams, config: SearchConfig) -> np.ndarray:
    """Which sentences need no further step: (B,)."""
    length, best_live, worst_returned = beams.tokens.shape[2], beams.total[:, 0], beams.best[:, -1]
    enough = (beams.ended >= config.beams) & (worst_returned >= best_live / length**config.length_penalty)
    hopeless = worst_returned >= best_live / beams.limit**config.length_penalty
    return enough | hopeless | (beams.limit <= length)


def _collect(
    beams: Beams,
    taken: np.ndarray,
    parent: np.ndarray,
    last: np.ndarray,
    length_penalty: float,
    found: list[list[Hypothesis]],
) -> None:
    """Put down the hypotheses that have just ended. Python's work is one turn a hypothesis, not one a step."""
    rows, ranks = taken.nonzero()
    chosen = parent[rows, ranks]
    tokens, log_probs = beams.tokens[rows, chosen].tolist(), beams.log_probs[rows, chosen].tolist()
    sentences, lasts = beams.sentence[rows].tolist(), last[rows, ranks].tolist()
    for sentence, ids, logs, final in zip(sentences, tokens, log_probs, lasts, strict=True):
        found[sentence].append(hypothesis([*ids, EOS], [*logs, final], length_penalty))


def _collect_unfinished(beams: Beams, config: SearchConfig, found: list[list[Hypothesis]]) -> None:
    """Where the limit ends a sentence with too few finished hypotheses, its live ones are put down too."""
    short = (beams.limit <= beams.tokens.shape[2]) & (beams.ended < config.n_best)
    for row in np.flatnonzero(short):
        live = int((beams.total[row] > -np.inf).sum())
        for ids, logs in zip(beams.tokens[row, :live].tolist(), beams.log_probs[row, :live].tolist(), strict=True):
            found[beams.sentence[row]].append(hypothesis(ids, logs, config.length_penalty))


def _ranked(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    return sorted(hypotheses, key=lambda one: (not one.finished, -one.score))
