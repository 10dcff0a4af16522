"""Residual paths, feed-forward layers, embeddings and outputs against their formulas."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from regard.nn.blocks import FeedForward, Residual
from regard.nn.embedding import Embedding, Output

B, T, D, F, V = 2, 3, 4, 6, 7


def stirred(module: nn.Module) -> nn.Module:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return module


def normed(x: torch.Tensor, norm: nn.LayerNorm) -> torch.Tensor:
    spread = x.var(-1, unbiased=False, keepdim=True)
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(spread + norm.eps) * norm.weight + norm.bias


@pytest.mark.parametrize("place", ["pre", "post", "none"])
def test_the_norm_stands_where_it_is_named(place: str) -> None:
    torch.manual_seed(0)
    residual, x, inner = stirred(Residual(D, place, 0.0)), torch.randn(B, T, D), nn.Linear(D, D)
    ours = residual.after(x, inner(residual.before(x)))
    expected = {
        "pre": lambda: x + inner(normed(x, residual.norm)),
        "post": lambda: normed(x + inner(x), residual.norm),
        "none": lambda: x + inner(x),
    }[place]()
    assert torch.allclose(ours, expected, atol=1e-5)
    assert bool(list(residual.parameters())) == (place != "none")


def test_dropout_of_a_residual_leaves_the_path_itself_alone() -> None:
    torch.manual_seed(1)
    residual, x = Residual(D, "none", 0.5), torch.randn(B, T, D)
    change = residual.after(x, torch.ones(B, T, D)) - x
    assert set(change.round(decimals=4).flatten().tolist()) == {0.0, 2.0}
    assert torch.allclose(residual.eval().after(x, torch.ones(B, T, D)), x + 1)


ACTIVATIONS = {
    "relu": lambda x: max(x, 0.0),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "tanh": math.tanh,
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_feed_forward_layer_is_its_formula(activation: str) -> None:
    torch.manual_seed(2)
    layer, x = stirred(FeedForward(D, F, activation, 0.0)), torch.randn(B, T, D)
    ours = layer(x)
    for b in range(B):
        for t in range(T):
            inner = (layer.inner_proj.weight @ x[b, t] + layer.inner_proj.bias).tolist()
            hidden = torch.tensor([ACTIVATIONS[activation](value) for value in inner])
            expected = layer.output_proj.weight @ hidden + layer.output_proj.bias
            assert torch.allclose(ours[b, t], expected, atol=1e-5)


def test_embeddings_have_unit_variance_and_tied_logits_too() -> None:
    torch.manual_seed(3)
    embedding = Embedding(2000, 64, 0.0)
    vectors = embedding(torch.arange(2000)[None])
    assert vectors.std().item() == pytest.approx(1, abs=0.02)
    assert torch.allclose(vectors[0, 5], embedding.weight[5] * 8)
    logits = Output(64, 2000, embedding)(torch.randn(3, 5, 64))
    assert logits.std().item() == pytest.approx(1, abs=0.1)


def test_an_id_may_be_embedded_as_zeros() -> None:
    plain, zero = Embedding(V, D, 0.0), Embedding(V, D, 0.0, zero=2)
    zero.load_state_dict(plain.state_dict())
    ids = torch.tensor([[0, 2, 1], [2, 2, 3]])
    expected = plain(ids)
    expected[ids == 2] = 0
    assert torch.equal(zero(ids), expected) and zero.weight[2].abs().sum() > 0


def test_an_output_is_its_formula_tied_or_not() -> None:
    torch.manual_seed(4)
    embedding = Embedding(V, D, 0.0)
    tied, own = Output(D, V, embedding), Output(D, V)
    assert tied.weight is embedding.weight and own.weight.shape == (V, D)
    x = torch.randn(B, T, D)
    for output in (tied, own):
        nn.init.normal_(output.bias)
        for token in range(V):
            expected = (x * output.weight[token]).sum(-1) + output.bias[token]
            assert torch.allclose(output(x)[:, :, token], expected, atol=1e-5)


def test_embedding_dropout_acts_in_training_only() -> None:
    embedding, ids = Embedding(V, 50, 0.5), torch.arange(V)[None]
    assert embedding(ids).eq(0).any()
    assert not embedding.eval()(ids).eq(0).any()
