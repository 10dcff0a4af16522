"""The measurement of the lesson on the causal mask sees what it should."""

from __future__ import annotations

import torch

from regard.apps.lessons.mask import in_future, influence, largest, measure


def test_influence_is_the_dependence_of_outputs_on_inputs() -> None:
    inputs = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(1)).requires_grad_()
    sums = inputs.cumsum(1)
    matrix = influence(sums, inputs)
    assert torch.equal(matrix > 0, torch.ones(4, 4).tril() > 0)
    assert largest(matrix, in_future(matrix)) == 0 and largest(matrix, ~in_future(matrix)) > 0
    assert largest(influence(sums.flip(1), inputs), in_future(matrix)) > 0


def test_weights_that_sum_to_one_have_influence_all_the_same() -> None:
    inputs = torch.randn(1, 3, 2, generator=torch.Generator().manual_seed(1)).requires_grad_()
    weights = (inputs @ inputs.transpose(1, 2)).softmax(-1)
    assert influence(weights, inputs).min() > 1e-3


def test_the_control_without_a_mask_sees_the_future() -> None:
    for preset in ("transformer", "transformer-language", "convolution"):
        reaches, control, _ = measure(preset, seed=3, length=5)
        assert control.future > 0 and all(reach.past > 0 for reach in reaches)
    assert sum(reach.weight is not None for reach in measure("transformer", 1, 5)[0]) == 2
