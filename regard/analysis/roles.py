"""What heads do, measured over many sentences: how much of a head's attention falls on the previous token, the next,
itself, the first, the end, the same word elsewhere, the antecedent of a pronoun, the aligned word of the source.

Of role R, over the queries t that have such a key at all and a choice between keys:

    weight  mean of Σ_(s∈R(t)) a(t, s)
    most    how often the key looked at most is in R(t)
    chance  mean of |R(t)| / |keys that t may look at|, the weight that uniform attention would have
    lift    (weight - chance) / (1 - chance): 0 is chance, 1 is all of it

A head has the role of the greatest lift, where that is 0.5 at least. As Voita 2019 and Clark 2019 do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.analysis.maps import AttentionMap, is_mark
from regard.analysis.trace import Trace
from regard.data.embedded.stories import Span
from regard.data.embedded.truth import Truth
from regard.errors import UserError

CLEAR, FEW = 0.5, 20  # the lift that names a head; fewer queries name nothing
ROLES = ("previous", "next", "itself", "first", "end", "same word", "antecedent", "aligned")


@dataclass(frozen=True)
class Known:
    """The truth of one example in tokens, EOS included; None: nothing is known."""

    aligned: Tensor | None = None  # (T, S), output token by source token
    antecedents: Tensor | None = None  # (S, S), a pronoun's token by the tokens of whom it stands for


@dataclass(frozen=True)
class Share:
    """How much of a head's attention has one role; shares of 1."""

    weight: float
    most: float
    chance: float
    queries: int

    @property
    def lift(self) -> float:
        return (self.weight - self.chance) / (1 - self.chance)


@dataclass(frozen=True)
class HeadRoles:
    attention: str
    head: int
    shares: dict[str, Share]  # by role, where some query could have it

    @property
    def role(self) -> str | None:
        """What this head does, where that is clear; of two alike the more particular."""
        clear = {name: one.lift for name, one in self.shares.items() if one.queries >= FEW and one.lift >= CLEAR}
        return max(clear, key=lambda name: (clear[name], ROLES.index(name))) if clear else None


@dataclass(frozen=True)
class RolesReport:
    sentences: int
    heads: tuple[HeadRoles, ...]

    def as_dict(self) -> dict[str, Any]:
        return {"sentences": self.sentences, "heads": [{**asdict(one), "role": one.role} for one in self.heads]}


def known_tokens(
    truth: Truth, source_offsets: Sequence[tuple[int, int]], target_offsets: Sequence[tuple[int, int]]
) -> Known:
    """What is known of characters, said of tokens; offsets are those of the tokens without EOS."""
    sources, targets = len(source_offsets), len(target_offsets)
    aligned, antecedents = torch.zeros(targets + 1, sources + 1), torch.zeros(sources + 1, sources + 1)
    for one, other in truth.aligned:
        for target in _within(other, target_offsets):
            aligned[target, _within(one, source_offsets)] = 1
    for pronoun, name in truth.antecedents:
        for place in _within(pronoun, source_offsets):
            antecedents[place, _within(name, source_offsets)] = 1
    return Known(aligned.bool() if truth.aligned else None, antecedents.bool() if truth.antecedents else None)


def _within(span: Span, offsets: Sequence[tuple[int, int]]) -> list[int]:
    return [place for place, (start, end) in enumerate(offsets) if start < span.end and span.start < end]


def measure_roles(traces: Sequence[Trace], known: Sequence[Known]) -> RolesReport:
    """Every head of every attention; `known` belongs to the traces one by one."""
    names = traces[0].attentions
    if not names:
        raise UserError("this model has no attention, so there is no head to describe")
    heads = [one for name in names for one in _measure(name, traces, known)]
    return RolesReport(len(traces), tuple(heads))


def _measure(name: str, traces: Sequence[Trace], known: Sequence[Known]) -> list[HeadRoles]:
    sums: dict[str, list[Tensor]] = {}
    for trace, truth in zip(traces, known, strict=True):
        found = trace.attention(name)
        allowed = _allowed(found, name)
        choice = allowed.sum(-1) > 1
        most = F.one_hot(found.weights.argmax(-1), len(found.columns)).to(found.weights.dtype)
        for role, keys in _places(trace, found, allowed, truth).items():
            keys = keys & allowed
            counted = keys.any(-1) & choice  # (T,)
            on = keys[counted].to(found.weights.dtype)  # (n, S)
            if len(on):
                weight, hit = ((one[:, counted] * on).sum((-2, -1)) for one in (found.weights, most))  # (H,)
                chance = (on.sum(-1) / allowed[counted].sum(-1)).sum().expand_as(weight)
                count = torch.full_like(weight, len(on))
                sums.setdefault(role, []).append(torch.stack((weight, hit, chance, count)))
    totals = {role: torch.stack(pieces).sum(0) for role, pieces in sums.items()}  # (4, H)
    heads = traces[0].attention(name).heads
    return [HeadRoles(name, head, {r: _share(t[:, head]) for r, t in totals.items()}) for head in range(heads)]


def _share(sums: Tensor) -> Share:
    weight, most, chance, queries = sums.tolist()
    return Share(weight / queries, most / queries, chance / queries, int(queries))


def _allowed(found: AttentionMap, name: str) -> Tensor:
    """(T, S): what the queries, the last T of the keys where both are of one row, may look at."""
    whole = torch.ones(len(found.rows), len(found.columns), dtype=torch.bool)
    looks_back = name.startswith("decoder.") and "self_attention" in name
    return whole.tril(len(found.columns) - len(found.rows)) if looks_back else whole


def _places(trace: Trace, found: AttentionMap, allowed: Tensor, known: Known) -> dict[str, Tensor]:
    """The keys (T, S) of each role."""
    queries, keys = allowed.shape
    place, every = torch.arange(queries)[:, None] + keys - queries, torch.arange(keys)[None]
    within = "self_attention" in found.name
    words = [(row, column) for row in found.rows for column in found.columns]
    same = torch.tensor([_same(*pair) for pair in words]).view(queries, keys)
    roles = {"first": (every == 0).expand(queries, keys)}
    if allowed[0].all():  # else it has no end yet
        roles["end"] = (every == keys - 1).expand(queries, keys)
    if within:
        near = {"previous": every == place - 1, "next": every == place + 1, "itself": every == place}
        roles |= near | {"same word": same & ~near["itself"]}
    else:
        roles["same word"] = same
    sources, outputs = len(trace.source_tokens), len(trace.output_tokens)
    reads = keys >= sources and found.columns[:sources] == trace.source_tokens
    if reads and within and known.antecedents is not None and queries == keys:
        roles["antecedent"] = torch.zeros_like(same)
        roles["antecedent"][:sources, :sources] = known.antecedents
    if reads and found.name in trace.source_attentions and known.aligned is not None:
        roles["aligned"] = torch.zeros_like(same)
        roles["aligned"][queries - outputs :, :sources] = known.aligned
    return roles


def _same(one: str, other: str) -> bool:
    return one.strip() == other.strip() and bool(one.strip()) and not is_mark(one)


def render(report: RolesReport) -> str:
    """A table an attention: weight and most, in percent, under them the weight by chance."""
    shown = [role for role in ROLES if any(role in one.shares for one in report.heads)]
    width = max(34, *(len(one.attention) + 2 for one in report.heads))
    lines = [
        f"{report.sentences} sentences; percent of the weight that falls on it / how often it is looked at most",
        "",
        " " * width + "".join(f"{role:>12}" for role in shown) + "  role",
    ]
    for name in dict.fromkeys(one.attention for one in report.heads):
        heads = [one for one in report.heads if one.attention == name]
        chances = [
            _cell(f"{100 * heads[0].shares[role].chance:.0f}" if role in heads[0].shares else "") for role in shown
        ]
        lines.append(f"{name:<{width}}{''.join(chances)}  by chance")
        for one in heads:
            cells = [_cell(_numbers(one.shares[role]) if role in one.shares else "") for role in shown]
            lines.append(f"{f'  head {one.head}':<{width}}{''.join(cells)}  {one.role or '-'}")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return f"{text or '·':>12}"


def _numbers(share: Share) -> str:
    return f"{100 * share.weight:.0f}/{100 * share.most:.0f}"
