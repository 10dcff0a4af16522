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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.config import SearchConfig
from regard.data.tokenizer import EOS
from regard.decoding.hypothesis import Hypothesis, hypothesis, next_log_probs
from regard.models.seq2seq import Memory, Model, Record
from regard.runtime import still_wanted


@dataclass(frozen=True)
class Beams(Record):
    """The sentences still searched. The number of beams W starts at 1 and grows to N."""

    sentence: Tensor  # (B,) place in the input
    limit: Tensor  # (B,)
    total: Tensor  # (B, W) log-probability of each live hypothesis; -inf: no hypothesis
    tokens: Tensor  # (B, W, T)
    log_probs: Tensor  # (B, W, T) of each token
    ended: Tensor  # (B,) how many have finished
    best: Tensor  # (B, n_best) scores of the best that have finished, best first; -inf: none yet


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
    beams = _start(limits, config.n_best)
    logits, state = model.step(first, memory, model.start(memory))
    memory = memory.begun()
    while True:
        still_wanted()
        beams, parent = _advance(beams, next_log_probs(logits), config, found)
        yield beams
        staying = (~_done(beams, config)).nonzero().squeeze(1)
        if len(staying) < len(beams.sentence):
            _collect_unfinished(beams, config, found)
        if len(staying) == 0:
            return
        width_before = logits.shape[0] // len(beams.sentence)
        rows = (staying.unsqueeze(1) * width_before + parent[staying]).flatten()  # (B·W,) in the last step's batch
        leaving = len(staying) < len(beams.sentence)
        memory = memory.select(staying) if leaving else memory  # one row for all beams of a sentence
        state = state.rearrange(rows, staying if leaving else None)
        beams = beams.select(staying)
        logits, state = model.step(beams.tokens[:, :, -1].reshape(-1, 1), memory, state)


def _start(limits: Tensor, n_best: int) -> Beams:
    size, device = len(limits), limits.device
    return Beams(
        sentence=torch.arange(size, device=device),
        limit=limits,
        total=torch.zeros(size, 1, device=device),
        tokens=torch.zeros(size, 1, 0, dtype=torch.long, device=device),
        log_probs=torch.zeros(size, 1, 0, device=device),
        ended=torch.zeros(size, dtype=torch.long, device=device),
        best=torch.full((size, n_best), -torch.inf, device=device),
    )


def _advance(
    beams: Beams, log_probs: Tensor, config: SearchConfig, found: list[list[Hypothesis]]
) -> tuple[Beams, Tensor]:
    """Every live hypothesis grows by a token: log_probs (B·W, V) → the new beams, and whom each came from (B, W)."""
    size, width = beams.total.shape
    each = min(2 * config.beams, log_probs.shape[-1])  # the best 2N of a sentence are among the best 2N of each beam
    last, token = log_probs.topk(each, dim=-1)  # (B·W, 2N)
    continued = beams.total.unsqueeze(-1) + last.view(size, width, each)
    total, place = continued.view(size, -1).topk(min(2 * config.beams, width * each), dim=-1)  # (B, 2N)
    parent = place // each
    last, token = (values.view(size, -1).gather(1, place) for values in (last, token))

    ending = token == EOS
    taken = ending & (total > -torch.inf)
    taken[:, config.beams :] = False
    length = beams.tokens.shape[-1] + 1
    score = (total / length**config.length_penalty).masked_fill(~taken, -torch.inf)
    if taken.any():
        _collect(beams, taken, parent, last, config.length_penalty, found)

    total, kept = total.masked_fill(ending, -torch.inf).topk(min(config.beams, total.shape[1]), dim=-1)  # (B, W)
    parent, token, last = (values.gather(1, kept) for values in (parent, token, last))
    path = parent.unsqueeze(-1).expand(-1, -1, length - 1)
    grown = Beams(
        sentence=beams.sentence,
        limit=beams.limit,
        total=total,
        tokens=torch.cat([beams.tokens.gather(1, path), token.unsqueeze(-1)], dim=-1),
        log_probs=torch.cat([beams.log_probs.gather(1, path), last.unsqueeze(-1)], dim=-1),
        ended=beams.ended + taken.sum(1),
        best=torch.cat([beams.best, score], dim=1).topk(config.n_best, dim=-1).values,
    )
    return grown, parent


def _done(beams: Beams, config: SearchConfig) -> Tensor:
    """Which sentences need no further step: (B,)."""
    length, best_live, worst_returned = beams.tokens.shape[-1], beams.total[:, 0], beams.best[:, -1]  # sorted beams
    enough = (beams.ended >= config.beams) & (worst_returned >= best_live / length**config.length_penalty)
    hopeless = worst_returned >= best_live / beams.limit**config.length_penalty
    return enough | hopeless | (beams.limit <= length)


def _collect(
    beams: Beams, taken: Tensor, parent: Tensor, last: Tensor, length_penalty: float, found: list[list[Hypothesis]]
) -> None:
    """Put down the hypotheses that have just ended. Python's work is one turn a hypothesis, not one a step."""
    rows, ranks = taken.nonzero(as_tuple=True)
    chosen = parent[rows, ranks]
    tokens, log_probs = beams.tokens[rows, chosen].tolist(), beams.log_probs[rows, chosen].tolist()
    sentences, lasts = beams.sentence[rows].tolist(), last[rows, ranks].tolist()
    for sentence, ids, logs, final in zip(sentences, tokens, log_probs, lasts, strict=True):
        found[sentence].append(hypothesis([*ids, EOS], [*logs, final], length_penalty))


def _collect_unfinished(beams: Beams, config: SearchConfig, found: list[list[Hypothesis]]) -> None:
    """Where the limit ends a sentence with too few finished hypotheses, its live ones are put down too."""
    short = (beams.limit <= beams.tokens.shape[-1]) & (beams.ended < config.n_best)
    for row in short.nonzero().squeeze(1).tolist():
        live = int((beams.total[row] > -torch.inf).sum())
        for ids, logs in zip(beams.tokens[row, :live].tolist(), beams.log_probs[row, :live].tolist(), strict=True):
            found[int(beams.sentence[row])].append(hypothesis(ids, logs, config.length_penalty))


def _ranked(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    return sorted(hypotheses, key=lambda one: (not one.finished, -one.score))
