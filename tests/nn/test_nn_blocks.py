"""Residual paths, feed-forward layers, embeddings and outputs against their formulas."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from regard.kernels.dropout import add_dropped
from regard.kernels.dropout import dropout as drop
from regard.nn.blocks import FeedForward, Residual
from regard.nn.embedding import Embedding, Output, Ready, output_size

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


@pytest.mark.parametrize("large", [1, 2**18], ids=["packed", "small"])
def test_an_output_layer_made_ready_is_the_layer_and_so_is_a_part_of_it(monkeypatch, large: int) -> None:
    monkeypatch.setattr("regard.kernels.packed_linear.LARGE", large)
    torch.manual_seed(6)
    output, x = Output(D, V), torch.randn(B, T, D)
    nn.init.normal_(output.bias)
    ready, ids = Ready.of(output), torch.tensor([0, 2, V - 1])
    for rows in (x, x[:1, :1]):
        torch.testing.assert_close(ready(rows), output(rows).detach())
        torch.testing.assert_close(ready.only(ids)(rows), output(rows)[:, :, ids].detach())
    assert ready(x[:0]).shape == (0, T, V) and not ready(x).requires_grad
    assert output_size(ready) == output_size(output) == V * (D + 1)


def test_embedding_dropout_acts_in_training_only() -> None:
    embedding, ids = Embedding(V, 50, 0.5), torch.arange(V)[None]
    assert embedding(ids).eq(0).any()
    assert not embedding.eval()(ids).eq(0).any()


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("batch", [5, 0])
@pytest.mark.parametrize("frozen", [True, False])
def test_a_feed_forward_layer_as_one_node_is_the_plain_one(
    dropout: float, training: bool, batch: int, frozen: bool
) -> None:
    """Value and every gradient, with the same values dropped, of inputs that lie otherwise; frozen weights too."""
    torch.manual_seed(5)
    layer = stirred(FeedForward(D, F, "relu", dropout)).double().train(training)
    layer.inner_proj.requires_grad_(not frozen)
    x = torch.randn(T, batch, D, dtype=torch.double).transpose(0, 1).requires_grad_()
    given = torch.randn(batch, D, T, dtype=torch.double).mT
    inputs = (x, *(one for one in layer.parameters() if one.requires_grad))
    torch.manual_seed(6)
    ours = layer(x)
    layer.activation = lambda values: nn.functional.relu(values)  # another name of it: not the node
    torch.manual_seed(6)
    plain = layer(x)
    assert type(ours.grad_fn) is not type(plain.grad_fn)
    torch.testing.assert_close(ours, plain)
    for one, other in zip(
        torch.autograd.grad(ours, inputs, given), torch.autograd.grad(plain, inputs, given), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_dropout_has_the_gradient_of_what_it_kept() -> None:
    torch.manual_seed(7)
    x, path = (torch.randn(40, 30, dtype=torch.double, requires_grad=True) for _ in range(2))
    given = torch.randn(40, 30, dtype=torch.double)
    dropped = drop(x, 0.25, True)
    scale = torch.where(dropped == 0, 0.0, dropped / x).detach()
    assert 0.65 < (scale > 0).double().mean() < 0.85 and scale.max() == pytest.approx(1 / 0.75)
    torch.testing.assert_close(torch.autograd.grad(dropped, x, given)[0], given * scale)
    torch.manual_seed(8)
    joined = add_dropped(path, x, 0.25, True)
    torch.manual_seed(8)
    torch.testing.assert_close(joined, path + drop(x, 0.25, True))
    of_path, of_x = torch.autograd.grad(joined, (path, x), given)
    assert torch.equal(of_path, given)
    torch.testing.assert_close(of_x, given * (joined - path).detach() / x.detach())
    assert drop(x, 0.25, False) is x
