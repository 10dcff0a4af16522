"""Beam search over any model, all sentences and beams at once.

Rules, those of fairseq and Vaswani 2017 in the main:
- A step considers the 2N most probable continuations of a sentence. Those that end in EOS and are among the first N
  are finished; the N best others live on.
- score = log_prob / length^alpha, length counting EOS. It ranks finished hypotheses only: live ones have one length.
- A sentence is done when it has N finished hypotheses of which the worst that would be returned scores no less than
  the best live one does now; when no live one can still beat that one at all (a log-probability only falls, so
  log_prob / limit^alpha bounds every continuation); or at its limit. N finished alone are not enough: where a model is
  sure, N improbable early ends are found long before the right one.
- At the limit, live hypotheses fill up what is missing to n_best, marked as unfinished and ranked after the others.
Therefore one beam is greedy search, and a beam as wide as the number of sequences is brute force; both are tested.

A sentence's totals, tokens and ends are few numbers: NumPy keeps them, wherever the model is, for its calls cost less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from regard.config import SearchSettings
from regard.data.tokenizer import EOS
from regard.inference.candidates import continuations
from regard.inference.hypothesis import Hypothesis, hypothesis, next_log_probs
from regard.inference.incremental.model import IncrementalModel
from regard.models.seq2seq import Record
from regard.threads import check_cancelled


@dataclass(frozen=True)
class Beams:
    """The sentences still searched. The number of beams W starts at 1 and grows to N."""

    sentence: np.ndarray  # (B,) index in the input
    limit: np.ndarray  # (B,)
    total: np.ndarray  # (B, W) log-probability of each live hypothesis, most probable first; -inf: no hypothesis
    tokens: np.ndarray  # (B, W, T)
    log_probs: np.ndarray  # (B, W, T) of each token
    ended: np.ndarray  # (B,) how many have finished
    best: np.ndarray  # (B, n_best) scores of the best that have finished, best first; -inf: none yet

    @property
    def length(self) -> int:
        return self.tokens.shape[2]

    def select(self, rows: np.ndarray) -> Self:
        return type(self)(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def beam_search(
    model: IncrementalModel, memory: Record, first: Tensor, limits: Tensor, config: SearchSettings
) -> list[list[Hypothesis]]:
    """The n_best hypotheses of each sentence, best first (fewer only where the vocabulary allows no more).

    first (B, P): BOS and what is forced after it. limits (B,): most tokens to generate, EOS included.
    """
    finished: list[list[Hypothesis]] = [[] for _ in range(first.shape[0])]
    for _ in beam_steps(model, memory, first, limits, config, finished):
        pass
    return [_ranked(hypotheses)[: config.n_best] for hypotheses in finished]


def beam_steps(
    model: IncrementalModel,
    memory: Record,
    first: Tensor,
    limits: Tensor,
    config: SearchSettings,
    finished: list[list[Hypothesis]],
) -> Iterator[Beams]:
    """The search step by step: the live hypotheses after each; those that end are added to `finished`, by sentence."""
    beams = _start(limits.cpu().numpy(), config.n_best)
    logits, state = model.step(first, memory, model.start(memory))
    while True:
        check_cancelled()
        beams, parent = _advance(beams, next_log_probs(logits), config, finished)
        yield beams
        size, width = len(beams.sentence), logits.shape[0] // len(beams.sentence)  # of the last step's batch
        parent = parent + np.arange(0, size * width, width)[:, None]  # (B, W), the row there
        done = _done(beams, config)
        unchanged = not done.any()
        if not unchanged:
            _collect_unfinished(beams, config, finished)
            if done.all():
                return
        kept = (~done).nonzero()[0]
        beams, parent = (beams, parent) if unchanged else (beams.select(kept), parent[kept])
        rows = torch.from_numpy(parent.ravel()).to(first.device)
        if not model.shares_memory and (not unchanged or parent.shape[1] != width):
            memory = memory.select(rows)
        elif model.shares_memory and not unchanged:
            memory = memory.select(torch.from_numpy(kept).to(first.device))
        state = state.select(rows)
        last = torch.from_numpy(beams.tokens[:, :, -1].reshape(-1, 1)).to(first.device)
        logits, state = model.step(last, memory, state)


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
    beams: Beams, log_probs: Tensor, config: SearchSettings, finished: list[list[Hypothesis]]
) -> tuple[Beams, np.ndarray]:
    """Every live hypothesis grows by a token: log_probs (B·W, V) → the new beams, and the parent of each (B, W)."""
    total, token, last, parent = continuations(beams.total, log_probs, 2 * config.beams)
    rows = np.arange(len(total))[:, None]

    ending, ended, best = token == EOS, beams.ended, beams.best
    if ending.any():
        completed = ending & (total > -np.inf)
        completed[:, config.beams :] = False
        _collect(beams, completed, parent, last, config.length_penalty, finished)
        scores = np.where(completed, total / (beams.length + 1) ** config.length_penalty, -np.inf).astype(np.float32)
        ended = ended + completed.sum(1)
        best = -np.sort(-np.concatenate((best, scores), axis=1), axis=1)[:, : config.n_best]
        total = np.where(ending, np.float32(-np.inf), total)
        staying = np.argsort(-total, axis=1, kind="stable")
        total, token, last, parent = (values[rows, staying] for values in (total, token, last, parent))
    total, token, last, parent = (values[:, : config.beams] for values in (total, token, last, parent))
    grown = Beams(
        sentence=beams.sentence,
        limit=beams.limit,
        total=total,
        tokens=np.concatenate((beams.tokens[rows, parent], token[:, :, None]), axis=2),
        log_probs=np.concatenate((beams.log_probs[rows, parent], last[:, :, None]), axis=2),
        ended=ended,
        best=best,
    )
    return grown, parent


def _done(beams: Beams, config: SearchSettings) -> np.ndarray:
    """Which sentences need no further step: (B,)."""
    best_live, worst_returned = beams.total[:, 0], beams.best[:, -1]
    enough = (beams.ended >= config.beams) & (worst_returned >= best_live / beams.length**config.length_penalty)
    hopeless = worst_returned >= best_live / beams.limit**config.length_penalty
    return enough | hopeless | (beams.limit <= beams.length)


def _collect(
    beams: Beams,
    completed: np.ndarray,
    parent: np.ndarray,
    last: np.ndarray,
    length_penalty: float,
    finished: list[list[Hypothesis]],
) -> None:
    """Add the hypotheses that have just ended. Python's work is proportional to their number, not to the steps."""
    rows, ranks = completed.nonzero()
    chosen = parent[rows, ranks]
    tokens, log_probs = beams.tokens[rows, chosen].tolist(), beams.log_probs[rows, chosen].tolist()
    sentences, lasts = beams.sentence[rows].tolist(), last[rows, ranks].tolist()
    for sentence, ids, logs, final in zip(sentences, tokens, log_probs, lasts, strict=True):
        finished[sentence].append(hypothesis([*ids, EOS], [*logs, final], length_penalty))


def _collect_unfinished(beams: Beams, config: SearchSettings, finished: list[list[Hypothesis]]) -> None:
    """Where the limit ends a sentence with too few finished hypotheses, its live ones are added, too."""
    short = (beams.limit <= beams.length) & (beams.ended < config.n_best)
    for row in short.nonzero()[0].tolist():
        live = int((beams.total[row] > -np.inf).sum())
        for ids, logs in zip(beams.tokens[row, :live].tolist(), beams.log_probs[row, :live].tolist(), strict=True):
            finished[int(beams.sentence[row])].append(hypothesis(ids, logs, config.length_penalty))


def _ranked(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    return sorted(hypotheses, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))
