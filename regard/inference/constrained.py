"""Constrained beam search with dynamic beam allocation (Post & Vilar 2018), a sentence at a time.

Hypotheses are sorted into banks by how many constraints they have met. At each step the beam is shared out among the
banks: the best of each bank in turn, the fullest bank first. So a hypothesis that has just placed a symbol is not
driven out by those that have not yet paid for theirs. A hypothesis may end only when it has met all; one that would
drop or double a symbol, or close a tag before those inside it, is pruned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from regard.config import SearchSettings
from regard.data.sources import Source
from regard.data.vocabulary import BOS, EOS
from regard.inference.batching import (
    AnyModel,
    TooLong,
    device_of,
    evaluating,
    generation_limit,
    pad_sources,
    too_long,
)
from regard.inference.constraints import ConstraintProgress, Constraints, advancing, allowed
from regard.inference.hypothesis import Hypothesis, hypothesis, next_log_probs
from regard.inference.incremental.model import IncrementalModel, stepwise
from regard.threads import check_cancelled

LEAST_BEAMS, MOST_BEAMS = 8, 32
BANK_BEAMS = 4  # for each bank, where phrases are forced
LONGER, MORE = 1.5, 10  # the search ends at so many times the tokens of the best that has finished, and so many more


@dataclass(frozen=True)
class Live:
    """A hypothesis that goes on."""

    total: float
    tokens: tuple[int, ...]
    log_probs: tuple[float, ...]
    progress: ConstraintProgress
    parent: int  # its row in the last step


def constrained_decode(
    model: AnyModel,
    sources: Sequence[Source],
    constraints: Sequence[Constraints],
    config: SearchSettings,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis] | TooLong]:
    """The n_best hypotheses of each source that meet its constraints, best first; an empty list where none was found
    within the limit of tokens. prefixes: as of `regard.inference.decode`."""
    steps = stepwise(model)
    results: list[list[Hypothesis] | TooLong] = []
    with evaluating(model):
        begun = prefixes if prefixes is not None else [()] * len(sources)
        for source, wanted, prefix in zip(sources, constraints, begun, strict=True):
            results.append(too_long(model, source, prefix) or _search(steps, source, wanted, prefix, config))
    return results


def _search(
    model: IncrementalModel,
    source: Source,
    constraints: Constraints,
    prefix: Sequence[int],
    config: SearchSettings,
) -> list[Hypothesis]:
    banks = constraints.count + 1 if not constraints.phrases else BANK_BEAMS * (constraints.count + 1)
    width = min(max(config.beams, LEAST_BEAMS, banks), MOST_BEAMS)
    device = device_of(model)
    memory = model.encode(*pad_sources([source], device))
    limit = generation_limit(model, source, 1 + len(prefix), config)
    live = [Live(0.0, (), (), ConstraintProgress.of(prefix, constraints), 0)]
    finished: list[Hypothesis] = []
    logits, state = model.step(torch.tensor([[BOS, *prefix]], device=device), memory, model.start(memory))
    while True:
        check_cancelled()
        last_step = len(live[0].tokens) + 1 >= limit
        grown, ended = _grow(live, next_log_probs(logits).cpu().numpy(), constraints, config, width, last_step)
        finished += ended
        live = _allocate(grown, width)
        if not live or _done(live, finished, constraints, config, limit):
            break
        rows = torch.tensor([one.parent for one in live], device=device)
        if not model.shares_memory:
            memory = memory.select(rows)
        state = state.select(rows)
        last = torch.tensor([[one.tokens[-1]] for one in live], device=device)
        logits, state = model.step(last, memory, state)
    return sorted(finished, key=lambda one: -one.score)[: config.n_best]


def _grow(
    live: Sequence[Live],
    log_probs: np.ndarray,
    constraints: Constraints,
    config: SearchSettings,
    width: int,
    last: bool,
) -> tuple[list[Live], list[Hypothesis]]:
    """Every hypothesis is extended by its most probable tokens and by all that meet a constraint; log_probs (W, V).
    In the `last` step, at the limit, all end that may."""
    grown: dict[tuple[int, int, ConstraintProgress], Live] = {}
    ended: list[Hypothesis] = []
    for row, one in enumerate(live):
        scores = allowed(log_probs[row], one.progress, constraints)
        likely = np.argpartition(-scores, min(width, len(scores) - 1))[:width].tolist()
        steps = advancing(one.progress, one.tokens[-1] if one.tokens else None, constraints)
        meeting = {token for token, _ in steps}
        steps += [(token, one.progress.after(token, constraints)) for token in likely if token not in meeting]
        if last:
            steps.append((EOS, one.progress))
        for token, progress in dict.fromkeys(steps):
            score = float(scores[token])
            if score == -np.inf:
                continue
            logs = (*one.log_probs, score)
            if token == EOS:
                ended.append(hypothesis([*one.tokens, EOS], list(logs), config.length_penalty))
            else:
                grown[row, token, progress] = Live(one.total + score, (*one.tokens, token), logs, progress, row)
    return list(grown.values()), ended


def _allocate(grown: Sequence[Live], width: int) -> list[Live]:
    """The best of each bank in turn, until the beam is full: the fullest bank first; in it those outside of phrases,
    then those with the fewest tokens left."""
    banks: dict[int, dict[int, list[Live]]] = defaultdict(
        lambda: defaultdict(list)
    )  # by constraints met, by tokens left
    for one in sorted(grown, key=lambda one: -one.total):
        met, left = one.progress.bank
        banks[met][left].append(one)
    turns = [_in_turn([bank[left] for left in sorted(bank)]) for _, bank in sorted(banks.items(), reverse=True)]
    return _in_turn(turns)[:width]


def _in_turn(rows: Sequence[Sequence[Live]]) -> list[Live]:
    """The first of each, the second of each …"""
    longest = max(map(len, rows), default=0)
    return [row[rank] for rank in range(longest) for row in rows if rank < len(row)]


def _done(
    live: Sequence[Live],
    finished: Sequence[Hypothesis],
    constraints: Constraints,
    config: SearchSettings,
    limit: int,
) -> bool:
    """At the limit; or when enough have finished that are better than all that could end now, or the others have gone
    on for long without meeting their constraints."""
    length = len(live[0].tokens)
    if length >= limit:
        return True
    if len(finished) < config.n_best:
        return False
    ranked = sorted(finished, key=lambda one: -one.score)
    if length > LONGER * len(ranked[0].tokens) + MORE:
        return True
    complete = [one.total / length**config.length_penalty for one in live if one.progress.complete(constraints)]
    return len(finished) >= 2 * config.beams and ranked[config.n_best - 1].score >= max(complete, default=-np.inf)
