"""Roles of heads, over many sentences: how much of a head's attention is on the previous token, the next, itself, the
first, the end, the same word elsewhere, the antecedent of a pronoun, the syntactic head (the word that a word depends
on), the aligned word of the source.

Of role R, over the queries t that have such a key and a choice between keys:

    weight  mean of Σ_(s∈R(t)) a(t, s)
    most    how often the key of the highest weight is in R(t)
    chance  mean of |R(t)| / |keys that t may attend to|, the weight of uniform attention
    lift    (weight - chance) / (1 - chance): 0 is chance, 1 is all of it

A head has the role of the greatest lift, if that is 0.5 at least (Voita et al. 2019, Clark et al. 2019).
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

CLEAR_LIFT, FEWEST = 0.5, 20  # the lift and the number of queries that a role needs
ROLES = ("previous", "next", "itself", "first", "end", "same word", "antecedent", "syntactic head", "aligned")


@dataclass(frozen=True)
class TokenTruth:
    """The truth of one example in tokens, EOS included; None: it is not known."""

    aligned: Tensor | None = None  # (T, S), output token by source token
    antecedents: Tensor | None = None  # (S, S), a pronoun's token by the tokens of its antecedent
    heads: Tensor | None = None  # (S, S), a word's tokens by the tokens of the word that it depends on


@dataclass(frozen=True)
class RoleShare:
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
    shares: dict[str, RoleShare]  # by role, of those that some query could have

    @property
    def role(self) -> str | None:
        """The role with the greatest lift, if it is clear; of two equal ones the later in ROLES."""
        clear = {
            name: share.lift
            for name, share in self.shares.items()
            if share.queries >= FEWEST and share.lift >= CLEAR_LIFT
        }
        return max(clear, key=lambda name: (clear[name], ROLES.index(name))) if clear else None


@dataclass(frozen=True)
class RolesReport:
    sentences: int
    heads: tuple[HeadRoles, ...]

    def as_dict(self) -> dict[str, Any]:
        return {"sentences": self.sentences, "heads": [{**asdict(head), "role": head.role} for head in self.heads]}


def token_truth(
    truth: Truth, source_offsets: Sequence[tuple[int, int]], target_offsets: Sequence[tuple[int, int]]
) -> TokenTruth:
    """The truth in characters as truth in tokens; offsets are those of the tokens without EOS."""
    sources, targets = len(source_offsets), len(target_offsets)
    aligned = torch.zeros(targets + 1, sources + 1)
    antecedents, heads = torch.zeros(2, sources + 1, sources + 1)
    for source_span, target_span in truth.aligned:
        for target in _within(target_span, target_offsets):
            aligned[target, _within(source_span, source_offsets)] = 1
    for pairs, table in ((truth.antecedents, antecedents), (truth.heads, heads)):
        for word, other in pairs:
            for token in _within(word, source_offsets):
                table[token, _within(other, source_offsets)] = 1
    return TokenTruth(
        aligned.bool() if truth.aligned else None,
        antecedents.bool() if truth.antecedents else None,
        heads.bool() if truth.heads else None,
    )


def _within(span: Span, offsets: Sequence[tuple[int, int]]) -> list[int]:
    return [token for token, (start, end) in enumerate(offsets) if start < span.end and span.start < end]


def measure_roles(traces: Sequence[Trace], truths: Sequence[TokenTruth]) -> RolesReport:
    """Every head of every attention; `truths` are those of the traces, in the same order."""
    names = traces[0].attentions
    if not names:
        raise UserError("this model has no attention, so there is no head to describe")
    heads = [head for name in names for head in _measure(name, traces, truths)]
    return RolesReport(len(traces), tuple(heads))


def _measure(name: str, traces: Sequence[Trace], truths: Sequence[TokenTruth]) -> list[HeadRoles]:
    sums: dict[str, list[Tensor]] = {}
    for trace, truth in zip(traces, truths, strict=True):
        attention = trace.attention(name)
        allowed = _allowed(attention)
        choice = allowed.sum(-1) > 1
        weights = attention.weights  # (H, T, S)
        most = F.one_hot(weights.argmax(-1), len(attention.columns)).to(weights.dtype)
        for role, keys in _role_keys(trace, attention, allowed, truth).items():
            keys = keys & allowed
            counted = keys.any(-1) & choice  # (T,)
            role_keys = keys[counted].to(weights.dtype)  # (n, S)
            if len(role_keys):
                weight = (weights[:, counted] * role_keys).sum((-2, -1))  # (H,)
                hit = (most[:, counted] * role_keys).sum((-2, -1))
                chance = (role_keys.sum(-1) / allowed[counted].sum(-1)).sum().expand_as(weight)
                count = torch.full_like(weight, len(role_keys))
                sums.setdefault(role, []).append(torch.stack((weight, hit, chance, count)))
    totals = {role: torch.stack(pieces).sum(0) for role, pieces in sums.items()}  # (4, H)
    heads = traces[0].attention(name).heads
    return [HeadRoles(name, head, {r: _share(t[:, head]) for r, t in totals.items()}) for head in range(heads)]


def _share(sums: Tensor) -> RoleShare:
    weight, most, chance, queries = sums.tolist()
    return RoleShare(weight / queries, most / queries, chance / queries, int(queries))


def _allowed(attention: AttentionMap) -> Tensor:
    """(T, S): True = the query may attend to the key. In causal self-attention the queries are the last T keys."""
    whole = torch.ones(len(attention.rows), len(attention.columns), dtype=torch.bool)
    causal = attention.name.startswith("decoder.") and "self_attention" in attention.name
    return whole.tril(len(attention.columns) - len(attention.rows)) if causal else whole


def _role_keys(trace: Trace, attention: AttentionMap, allowed: Tensor, truth: TokenTruth) -> dict[str, Tensor]:
    """The keys (T, S) of each role."""
    queries, keys = allowed.shape
    position, key = torch.arange(queries)[:, None] + keys - queries, torch.arange(keys)[None]
    within = "self_attention" in attention.name
    words = [(row, column) for row in attention.rows for column in attention.columns]
    same = torch.tensor([_same(*pair) for pair in words]).view(queries, keys)
    roles = {"first": (key == 0).expand(queries, keys)}
    if allowed[0].all():  # in causal self-attention no query sees the end
        roles["end"] = (key == keys - 1).expand(queries, keys)
    if within:
        near = {"previous": key == position - 1, "next": key == position + 1, "itself": key == position}
        roles |= near | {"same word": same & ~near["itself"]}
    else:
        roles["same word"] = same
    sources, outputs = len(trace.source_tokens), len(trace.output_tokens)
    source_keys = keys >= sources and attention.columns[:sources] == trace.source_tokens
    for role, table in (("antecedent", truth.antecedents), ("syntactic head", truth.heads)):
        if source_keys and within and table is not None and queries == keys:
            roles[role] = torch.zeros_like(same)
            roles[role][:sources, :sources] = table
    if source_keys and attention.name in trace.source_attentions and truth.aligned is not None:
        roles["aligned"] = torch.zeros_like(same)
        roles["aligned"][queries - outputs :, :sources] = truth.aligned
    return roles


def _same(word: str, other: str) -> bool:
    return word.strip() == other.strip() and bool(word.strip()) and not is_mark(word)


def render(report: RolesReport) -> str:
    """A table for each attention: weight and most in percent; its first row is the weight by chance."""
    shown = [role for role in ROLES if any(role in head.shares for head in report.heads)]
    width = max(34, *(len(head.attention) + 2 for head in report.heads))
    lines = [
        f"{report.sentences} sentences; percent of the weight / how often the weight is the highest",
        "",
        " " * width + "".join(f"{role:>15}" for role in shown) + "  role",
    ]
    for name in dict.fromkeys(head.attention for head in report.heads):
        heads = [head for head in report.heads if head.attention == name]
        chances = [
            _cell(f"{100 * heads[0].shares[role].chance:.0f}" if role in heads[0].shares else "") for role in shown
        ]
        lines.append(f"{name:<{width}}{''.join(chances)}  by chance")
        for head in heads:
            cells = [_cell(_numbers(head.shares[role]) if role in head.shares else "") for role in shown]
            lines.append(f"{f'  head {head.head}':<{width}}{''.join(cells)}  {head.role or '-'}")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return f"{text or '·':>15}"


def _numbers(share: RoleShare) -> str:
    return f"{100 * share.weight:.0f}/{100 * share.most:.0f}"
