"""Dropout from bytes: what is kept is scaled, and the gradient is that of what was kept."""

from __future__ import annotations

import pytest
import torch

from regard.kernels.dropout import FusedDropout, FusedResidual


def test_the_gradient_is_that_of_what_was_kept() -> None:
    torch.manual_seed(7)
    x, path = (torch.randn(40, 30, dtype=torch.double, requires_grad=True) for _ in range(2))
    gradient = torch.randn(40, 30, dtype=torch.double)
    dropout, residual = FusedDropout(0.25), FusedResidual(30, "none", 0.25)
    residual.dropout = dropout
    dropped = dropout(x)
    scale = torch.where(dropped == 0, 0.0, dropped / x).detach()
    assert 0.65 < (scale > 0).double().mean() < 0.85 and scale.max() == pytest.approx(1 / 0.75)
    torch.testing.assert_close(torch.autograd.grad(dropped, x, gradient)[0], gradient * scale)
    torch.manual_seed(8)
    joined = residual.after(path, x)
    torch.manual_seed(8)
    torch.testing.assert_close(joined, path + dropout(x))
    of_path, of_x = torch.autograd.grad(joined, (path, x), gradient)
    assert torch.equal(of_path, gradient)
    torch.testing.assert_close(of_x, gradient * (joined - path).detach() / x.detach())
    assert dropout.eval()(x) is x
    torch.testing.assert_close(residual.eval().after(path, x), path + x)


def test_none_is_dropped_with_probability_zero() -> None:
    x = torch.randn(4, 5)
    assert FusedDropout(0.0).train()(x) is x


@pytest.mark.parametrize("probability", [1e-4, 0.5, 0.999])
def test_the_mean_stays(probability: float) -> None:
    torch.manual_seed(1)
    mean = FusedDropout(probability)(torch.ones(1000, 1001)).mean().item()
    assert mean == pytest.approx(1, abs=0.1)
