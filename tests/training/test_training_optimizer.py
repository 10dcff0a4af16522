"""Muon: matrices inside the model move by orthogonal steps of a known size, everything else by Adam's."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.config import TrainingPlan, plan_model, settle
from regard.models.build import build_model
from regard.models.seq2seq import Model
from regard.training.optimizer import Optimizer, orthogonal

RATE = 0.01


def model_of(preset: str, **fields) -> Model:
    tree = {"preset": preset, "width": 16, "depth": 1, "dropout": 0.0, **fields}
    return build_model(plan_model(settle({"model": tree}).model), 40, 40, True, seed=1)


def stepped(model: Model, optimizer: str, **settings: float | None) -> tuple[Optimizer, dict[str, Tensor]]:
    """One step with random gradients, and how each parameter moved."""
    made = Optimizer(model, TrainingPlan.model_validate({"rate": RATE, "optimizer": optimizer, **settings}))
    generator = torch.Generator().manual_seed(1)
    before = {name: one.detach().clone() for name, one in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    made.step(RATE)
    return made, {name: one.detach() - before[name] for name, one in model.named_parameters()}


@pytest.mark.parametrize("shape", [(16, 16), (32, 64), (200, 8)])
def test_singular_values_become_one(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(1)) * 37
    orthogonal_matrix = orthogonal(torch.stack((torch.ones(shape), matrix)))[1]
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    clear = values / values.norm() > 0.01  # a direction that hardly exists stays small
    assert ((torch.linalg.svdvals(orthogonal_matrix)[clear] - 1).abs() < 0.25).all()
    assert torch.cosine_similarity(orthogonal_matrix.flatten(), (left @ right).flatten(), dim=0) > 0.97
    assert torch.equal(orthogonal(torch.zeros(1, *shape)), torch.zeros(1, *shape))


@pytest.mark.parametrize(
    ("preset", "inner", "outer"),
    [
        (
            "transformer",
            "decoder.layers.0.cross_attention.query_proj.weight",
            "encoder.layers.0.self_residual.norm.weight",
        ),
        ("lstm-additive", "decoder.stack.layers.0.state_proj.weight", "decoder.output.bias"),
    ],
)
@pytest.mark.parametrize("size", [0.1, 0.3])
def test_who_moves_what(preset: str, inner: str, outer: str, size: float) -> None:
    model = model_of(preset)
    optimizer, moved = stepped(model, "muon", muon_size=size)
    assert {"encoder.embedding.weight", outer} <= moved.keys()
    kinds = {name.split("/", 2)[2]: name.split("/")[0] for name in optimizer.moments()}
    assert kinds.keys() == moved.keys(), "every parameter is somebody's"
    assert kinds[inner] == "muon" and kinds[outer] == kinds["encoder.embedding.weight"] == "adam"
    for name, kind in kinds.items():
        if kind == "muon":
            assert moved[name].square().mean().sqrt() == pytest.approx(size * RATE, rel=0.25)
    plain, _ = stepped(model_of(preset), "adam")
    assert {name.split("/")[0] for name in plain.moments()} == {"adam"}


def test_threads_change_nothing() -> None:
    alone, shared = model_of("transformer"), model_of("transformer")
    _, moved = stepped(alone, "muon")
    _, together = stepped(shared, "muon", processes=3, threads=1)
    assert all(torch.equal(moved[name], together[name]) for name in moved)


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
@pytest.mark.parametrize("processes", [1, 3])
def test_matrices_and_tables_decay_apart_from_the_gradient(optimizer: str, processes: int) -> None:
    """Norms and biases do not."""
    model = model_of("transformer")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1)  # biases begin as zero
    before = {name: one.detach().clone() for name, one in model.named_parameters()}
    _, moved = stepped(model, optimizer, weight_decay=0.5, processes=processes, threads=1)
    _, without = stepped(model_of("transformer"), optimizer)
    assert any(one.ndim == 1 for one in before.values())
    for name, weights in before.items():
        expected = -RATE * 0.5 * weights if weights.ndim > 1 else torch.zeros_like(weights)
        torch.testing.assert_close(moved[name] - without[name], expected, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 3), (3, 1)])
def test_what_it_remembers_can_be_put_back(before: int, after: int) -> None:
    """Whoever shares the work."""
    model = model_of("transformer")
    optimizer, _ = stepped(model, "muon", processes=before, threads=1)
    other = Optimizer(model, TrainingPlan(rate=RATE, optimizer="muon", processes=after, threads=1))
    other.restore(optimizer.moments())
    moments = optimizer.moments()
    assert other.moments().keys() == moments.keys()
    assert all(torch.equal(other.moments()[name], moments[name]) for name in moments)
