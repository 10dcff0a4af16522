"""The measurement behind the lesson on the causal mask sees what it should."""

from __future__ import annotations

import torch

from regard.apps.lessons.mask import ahead, influence, largest, look_at


def test_influence_is_the_dependence_of_outputs_on_inputs() -> None:
    inputs = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(1)).requires_grad_()
    sums = inputs.cumsum(1)
    matrix = influence(sums, inputs)
    assert torch.equal(matrix > 0, torch.ones(4, 4).tril() > 0)
    assert largest(matrix, ahead(matrix)) == 0 and largest(matrix, ~ahead(matrix)) > 0
    assert largest(influence(sums.flip(1), inputs), ahead(matrix)) > 0


def test_weights_that_sum_to_one_have_influence_all_the_same() -> None:
    inputs = torch.randn(1, 3, 2, generator=torch.Generator().manual_seed(1)).requires_grad_()
    weights = (inputs @ inputs.transpose(1, 2)).softmax(-1)
    assert influence(weights, inputs).min() > 1e-3


def test_where_nothing_is_masked_the_lesson_would_say_so() -> None:
    for preset in ("transformer", "transformer-language", "convolution"):
        places, control, _ = look_at(preset, seed=3, length=5)
        assert control.future > 0 and all(one.past > 0 for one in places)
    assert sum(one.weight is not None for one in look_at("transformer", 1, 5)[0]) == 2
