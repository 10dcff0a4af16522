"""Every score against its formula, written out; multi-head attention against torch's own."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from regard.nn.attention import (
    Additive,
    Bilinear,
    Cosine,
    Dot,
    MultiHeadAttention,
    Projected,
    ScaledDot,
    ScoredAttention,
    Scorer,
)
from regard.nn.masks import causal_mask, key_mask
from regard.nn.taps import watching

B, T, S, Q, D = 2, 3, 5, 4, 6


def dot(x: list[float], y: list[float]) -> float:
    return sum(a * b for a, b in zip(x, y, strict=True))


def times(matrix: Tensor, x: list[float]) -> list[float]:
    return [dot(row, x) for row in matrix.tolist()]


def norm(x: list[float]) -> float:
    return math.sqrt(dot(x, x))


def by_hand(score: Scorer, h: list[float], s: list[float]) -> float:
    """The score of one state h and one query s, from the formulas of the papers."""
    match score:
        case Dot():
            return dot(h, s)
        case ScaledDot():
            return dot(h, s) / math.sqrt(len(s))
        case Bilinear():
            w = score.key_proj.weight.tolist()
            return sum(s[j] * w[j][i] * h[i] for j in range(len(s)) for i in range(len(h))) / math.sqrt(len(s))
        case Projected():
            return dot(times(score.key_proj.weight, h), times(score.query_proj.weight, s))
        case Cosine():
            return math.exp(score.log_scale.item()) * dot(h, s) / (norm(h) * norm(s))
        case Additive():
            wh, us = times(score.key_proj.weight, h), times(score.query_proj.weight, s)
            inner = [math.tanh(a + b + c) for a, b, c in zip(wh, us, score.key_proj.bias.tolist(), strict=True)]
            return dot(score.score_proj.weight[0].tolist(), inner)
    raise AssertionError(score)


SCORES = {
    "dot": (Dot, Q),
    "scaled-dot": (ScaledDot, Q),
    "cosine": (Cosine, Q),
    "bilinear": (lambda: Bilinear(Q, D), D),
    "projected": (lambda: Projected(Q, D), D),
    "additive": (lambda: Additive(Q, D), D),
}


@pytest.mark.parametrize("kind", SCORES)
def test_a_score_is_its_formula(kind: str) -> None:
    torch.manual_seed(1)
    make, width = SCORES[kind]
    score, states, query = make(), torch.randn(B, S, width), torch.randn(B, T, Q)
    scores = score(query, score.prepare(states))
    assert scores.shape == (B, T, S)
    for b in range(B):
        for t in range(T):
            for s in range(S):
                expected = by_hand(score, states[b, s].tolist(), query[b, t].tolist())
                assert scores[b, t, s].item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", SCORES)
def test_a_context_is_the_weighted_mean_of_the_states(kind: str) -> None:
    torch.manual_seed(2)
    make, width = SCORES[kind]
    attention = ScoredAttention(make(), width, 0.0)
    states, query, mask = torch.randn(B, S, width), torch.randn(B, T, Q), torch.rand(B, S) < 0.6
    mask[:, 0] = True
    context = attention(query, *attention.prepare(states), key_mask(mask))
    for b in range(B):
        for t in range(T):
            powers = [math.exp(by_hand(attention.score, h.tolist(), query[b, t].tolist())) for h in states[b]]
            powers = [p if m else 0.0 for p, m in zip(powers, mask[b].tolist(), strict=True)]
            expected = sum(p * h for p, h in zip(powers, states[b], strict=True)) / sum(powers)
            assert torch.allclose(context[b, t], expected, atol=1e-5)


def torch_twin(ours: MultiHeadAttention, width: int, memory_width: int, heads: int) -> nn.MultiheadAttention:
    biased = ours.query_proj.bias is not None
    theirs = nn.MultiheadAttention(width, heads, bias=biased, kdim=memory_width, vdim=memory_width, batch_first=True)
    with torch.no_grad():
        if width == memory_width:
            stacked = torch.cat((ours.query_proj.weight, ours.key_proj.weight, ours.value_proj.weight))
            theirs.in_proj_weight.copy_(stacked)
        else:
            theirs.q_proj_weight.copy_(ours.query_proj.weight)
            theirs.k_proj_weight.copy_(ours.key_proj.weight)
            theirs.v_proj_weight.copy_(ours.value_proj.weight)
        theirs.out_proj.weight.copy_(ours.output_proj.weight)
        if biased:
            theirs.in_proj_bias.copy_(torch.cat((ours.query_proj.bias, ours.key_proj.bias, ours.value_proj.bias)))
            theirs.out_proj.bias.copy_(ours.output_proj.bias)
    return theirs


@pytest.mark.parametrize("memory_width", [12, 7])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("bias", [False, True])
def test_multi_head_attention_is_torchs_own(memory_width: int, masked: bool, heads: int, bias: bool) -> None:
    torch.manual_seed(3)
    ours = MultiHeadAttention(12, memory_width, heads, "split", 0.0, bias=bias)
    theirs = torch_twin(ours, 12, memory_width, heads)
    query, states = torch.randn(B, T, 12), torch.randn(B, S, memory_width)
    real = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], dtype=torch.bool) if masked else None
    keys, values = ours.prepare(states)
    mask = None if real is None else key_mask(real)
    hidden = None if real is None else ~real
    expected, weights = theirs(query, states, states, key_padding_mask=hidden, average_attn_weights=False)
    assert torch.allclose(ours(query, keys, values, mask), expected, atol=1e-5)
    with watching(ours) as watch:
        assert torch.allclose(ours(query, keys, values, mask), expected, atol=1e-5)
    assert torch.allclose(watch.tensors()["weights"], weights, atol=1e-6)


def test_causal_attention_is_torchs_own() -> None:
    torch.manual_seed(4)
    ours = MultiHeadAttention(12, 12, 3, "split", 0.0)
    theirs, x = torch_twin(ours, 12, 12, 3), torch.randn(B, S, 12)
    expected, _ = theirs(x, x, x, attn_mask=~causal_mask(S, S), need_weights=False)
    assert torch.allclose(ours(x, *ours.prepare(x), causal=True), expected, atol=1e-5)
    assert torch.allclose(ours(x[:, 2:], *ours.prepare(x), causal=True), expected[:, 2:], atol=1e-5)


@pytest.mark.parametrize("layout", ["split", "full"])
@pytest.mark.parametrize("positions", [None, "alibi"])
def test_heads_written_out(layout: str, positions: str | None) -> None:
    """Each head with its own matrices, then output_proj over their concatenation."""
    torch.manual_seed(5)
    width, heads = 8, 2
    head_width = width // heads if layout == "split" else width
    attention = MultiHeadAttention(width, width, heads, layout, 0.0, positions)
    x = torch.randn(B, S, width)
    pieces = []
    for head in range(heads):
        rows = slice(head * head_width, (head + 1) * head_width)
        q, k, v = (x @ p.weight[rows].T for p in (attention.query_proj, attention.key_proj, attention.value_proj))
        scores = torch.zeros(B, S, S)
        for i in range(S):
            for j in range(S):
                scores[:, i, j] = (q[:, i] * k[:, j]).sum(-1) / math.sqrt(head_width)
                if positions == "alibi":
                    scores[:, i, j] -= {0: 2**-4, 1: 2**-8}[head] * abs(i - j)
        pieces.append(scores.softmax(-1) @ v)
    expected = torch.cat(pieces, -1) @ attention.output_proj.weight.T
    assert torch.allclose(attention(x, *attention.prepare(x)), expected, atol=1e-5)


@pytest.mark.parametrize("layout", ["split", "full"])
@pytest.mark.parametrize("positions", [None, "rotary", "alibi"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("length", [1, 3, 5])
def test_fused_equals_open(layout: str, positions: str | None, causal: bool, masked: bool, length: int) -> None:
    torch.manual_seed(6)
    attention = MultiHeadAttention(8, 8, 2, layout, 0.0, positions)
    x = torch.randn(B, S, 8)
    mask = key_mask(torch.tensor([[1, 1, 1, 1, 0], [1, 0, 1, 1, 1]], dtype=torch.bool)) if masked else None
    keys, values = attention.prepare(x)
    fused = attention(x[:, S - length :], keys, values, mask, causal)
    with watching(attention):
        opened = attention(x[:, S - length :], keys, values, mask, causal)
    assert fused.isfinite().all()
    assert torch.allclose(fused, opened, atol=1e-5)


@pytest.mark.parametrize("positions", [None, "rotary", "alibi"])
def test_one_query_at_a_time_equals_all_at_once(positions: str | None) -> None:
    torch.manual_seed(7)
    attention = MultiHeadAttention(8, 8, 2, "split", 0.0, positions)
    x = torch.randn(B, S, 8)
    whole = attention(x, *attention.prepare(x), causal=True)
    keys, values = attention.prepare(x[:, :0])
    for t in range(S):
        new_keys, new_values = attention.prepare(x[:, t : t + 1], start=t)
        keys, values = torch.cat((keys, new_keys), 2), torch.cat((values, new_values), 2)
        assert torch.allclose(attention(x[:, t : t + 1], keys, values, causal=True)[:, 0], whole[:, t], atol=1e-5)


def test_positions_make_a_difference() -> None:
    torch.manual_seed(8)
    plain, x = MultiHeadAttention(8, 8, 2, "split", 0.0), torch.randn(B, S, 8)
    without = plain(x, *plain.prepare(x))
    for positions in ("rotary", "alibi"):
        placed = MultiHeadAttention(8, 8, 2, "split", 0.0, positions)
        placed.load_state_dict(plain.state_dict())
        assert not torch.allclose(placed(x, *placed.prepare(x)), without, atol=1e-3)


@pytest.mark.parametrize("opened", [False, True])
def test_attention_dropout_acts_in_training_only(opened: bool) -> None:
    torch.manual_seed(9)
    x = torch.randn(B, S, 8)
    for attention in (MultiHeadAttention(8, 8, 2, "split", 0.5), ScoredAttention(Dot(), 8, 0.5)):

        def run(attention: nn.Module = attention) -> Tensor:
            if not opened:
                return attention(x, *attention.prepare(x), None)
            with watching(attention):
                return attention(x, *attention.prepare(x), None)

        attention.train()
        assert not torch.allclose(run(), run())
        attention.eval()
        assert torch.equal(run(), run())
