"""What the softmax passes on is what autograd sends through it; large inputs saturate it without a norm before it."""

from __future__ import annotations

import pytest
import torch

from regard.apps.lessons.norm import UntrainedEncoder, last_softmax, measure, passed


def test_passed_is_the_gradient_after_a_softmax() -> None:
    scores = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    gradient = torch.randn(3, 5, dtype=torch.float64)
    weights = scores.softmax(-1)
    weights.backward(gradient)
    assert scores.grad is not None
    arriving = (gradient - gradient.mean(-1, keepdim=True)).norm(dim=-1)
    torch.testing.assert_close(passed(weights.detach(), gradient), scores.grad.norm(dim=-1) / arriving)


def test_passed_by_uniform_and_by_peaked_weights() -> None:
    gradient = torch.randn(2, 4)
    torch.testing.assert_close(passed(torch.full((2, 4), 0.25), gradient), torch.full((2,), 0.25))
    assert passed(torch.eye(4)[:2], gradient).tolist() == [0, 0]


def test_the_gradient_of_the_squared_error_passes_the_softmax_and_that_of_the_cross_entropy_does_not() -> None:
    logits = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    derivative, squared, crossed = last_softmax(logits.detach())
    p = logits.softmax(-1)
    wrong = p.detach().argmin(-1)
    target = torch.nn.functional.one_hot(wrong, 5)
    (gradient,) = torch.autograd.grad((p - target).square().sum(), logits, retain_graph=True)
    torch.testing.assert_close(squared, gradient.norm(dim=1))
    (gradient,) = torch.autograd.grad(torch.nn.functional.cross_entropy(logits, wrong, reduction="sum"), logits)
    torch.testing.assert_close(crossed, gradient.norm(dim=1))
    jacobian = torch.autograd.functional.jacobian(lambda z: z.softmax(-1), logits[0].detach())
    torch.testing.assert_close(derivative[0], jacobian.norm())


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
def test_one_layer_attends_widely_and_only_its_norm_hides_the_scale(norm) -> None:
    small, large = (measure(UntrainedEncoder(norm, 1, scale, seed=3)) for scale in (1.0, 64.0))
    assert small.top < 0.5
    if norm == "pre":
        assert large.top == pytest.approx(small.top, abs=1e-3)
    else:
        assert large.top > 0.95 and large.passed < small.passed / 100
