"""Time, memory, chains and exponents on cases where the answer is known."""

from __future__ import annotations

import pytest
import torch

from regard.apps.lessons.complexity import cpu_seconds, exponent, graph_depth, saved_bytes


def test_the_exponent_of_a_power_law() -> None:
    assert exponent([(n, 3 * n**1.7) for n in (2, 16, 300)]) == pytest.approx(1.7)
    assert exponent([(n, 5.0) for n in (2, 16, 300)]) == pytest.approx(0)


def test_a_chain_is_as_long_as_its_longest_branch() -> None:
    x = torch.ones(3, requires_grad=True)
    assert graph_depth(x.exp) == 2  # exp, and the leaf

    def long() -> torch.Tensor:
        once, side = x.exp(), x * 2
        for _ in range(50_000):  # deeper than Python's recursion, and than the stack when it is freed
            once = once.tanh()
        return once + side

    assert graph_depth(long) == 50_003


def test_each_storage_counts_once_and_parameters_do_not() -> None:
    weight = torch.ones(5, 7, requires_grad=True)
    x = torch.ones(3, 5)
    assert saved_bytes(lambda: (x @ weight).exp().exp(), [weight]) == 4 * (3 * 5 + 2 * 3 * 7)
    assert saved_bytes(lambda: (x @ weight).exp().exp(), [weight, x]) == 4 * 2 * 3 * 7
    square = torch.ones(4, requires_grad=True)
    assert saved_bytes(lambda: (square.exp() * square.exp().view(4)).sum(), [square]) == 4 * 2 * 4


def test_rounds_are_interleaved_after_a_warm_up() -> None:
    order: list[str] = []
    reports: list[tuple[str, int, int]] = []
    work = {name: lambda name=name: order.append(name) for name in "ab"}
    taken = cpu_seconds(work, 2, "timing", lambda *report: reports.append(report))
    assert order == list("ababab") and set(taken) == {"a", "b"} and min(taken.values()) >= 0
    assert reports[-1] == ("timing", 6, 6)
