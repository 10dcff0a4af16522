"""Additive scores by exponentials against tanh."""

from __future__ import annotations

import torch

from regard.kernels.additive import LIMIT, FusedAdditive, exp_double, sigmoid_of_sum
from regard.nn.attention import Additive


def test_scores_are_the_plain_ones_with_every_gradient() -> None:
    torch.manual_seed(0)
    plain, fused = Additive(4, 6).double(), FusedAdditive(4, 6).double()
    fused.load_state_dict(plain.state_dict())
    query, states = (torch.randn(*shape, dtype=torch.double, requires_grad=True) for shape in ((2, 3, 4), (2, 5, 6)))
    weights = torch.randn(2, 3, 5, dtype=torch.double)
    results = []
    for score in (plain, fused):
        scores = score(query, score.prepare(states))
        gradients = torch.autograd.grad((scores * weights).sum(), [query, states, *score.parameters()])
        results.append((scores, *gradients))
    for expected, ours in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected)


def test_they_are_finite_for_any_queries_and_keys() -> None:
    values = torch.tensor([-1e4, -100.0, -LIMIT, -1.0, 0.0, 1.0, LIMIT, 100.0, 1e4], requires_grad=True)
    tanh = 1 - 2 * sigmoid_of_sum(exp_double(values)[:, None], exp_double(values)[None])
    tanh.sum().backward()
    assert tanh.isfinite().all() and values.grad is not None and values.grad.isfinite().all()
    near = values.detach().clamp(-LIMIT, LIMIT)
    assert torch.allclose(tanh, torch.tanh(near[:, None] + near[None]), atol=1e-6)
