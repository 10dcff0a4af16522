"""What is multiplied by copies of weights is what is multiplied by the weights."""

from __future__ import annotations

import platform
from copy import deepcopy

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.kernels import packed_linear
from regard.kernels.packed_linear import LARGE, PackedLinear, padded_rows

IN, OUT = 129, LARGE // 128


def weights(kind: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    return torch.randn(OUT, IN, generator=generator, dtype=kind), torch.randn(OUT, generator=generator, dtype=kind)


@pytest.mark.parametrize("packs", [True, False])
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 5, 7, 8, 17, 64, 65])
def test_a_product_is_linear(monkeypatch: pytest.MonkeyPatch, packs: bool, rows: int) -> None:
    """Whether this torch packs or not, and whatever is filled up."""
    if not packs:
        monkeypatch.setattr(packed_linear, "_can_pack", lambda: False)
    weight, bias = weights()
    x = torch.randn(rows, IN, generator=torch.Generator().manual_seed(3))
    product = PackedLinear.of(weight.requires_grad_(), bias)
    assert (product.packed is not None) == (packs and packed_linear._can_pack())
    with torch.no_grad():
        found = product(x)
    torch.testing.assert_close(found, F.linear(x, weight, bias).detach(), rtol=1e-4, atol=1e-4)
    assert found.shape == (rows, OUT) and not found.requires_grad


def test_rows_come_in_few_numbers() -> None:
    assert [padded_rows(rows) for rows in (3, 5, 6, 9, 16, 17, 32, 33, 320, 321)] == [
        5,
        5,
        8,
        16,
        16,
        32,
        32,
        64,
        320,
        352,
    ]


def test_the_pinned_torch_packs_on_this_kind_of_machine() -> None:
    """So that it is noticed where an operation that torch promises nobody goes away."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    assert packed_linear._can_pack() == (torch.backends.mkldnn.is_available() and x86)


def test_the_probe_does_not_mind_who_asks() -> None:
    expected = packed_linear._can_pack()
    packed_linear._can_pack.cache_clear()
    with torch.autocast("cpu", torch.bfloat16):
        assert packed_linear._can_pack() == expected


def test_gradients_go_through_it() -> None:
    weight, bias = weights()
    x = torch.randn(4, IN, generator=torch.Generator().manual_seed(3), requires_grad=True)
    PackedLinear.of(weight, bias)(x).sum().backward()
    torch.testing.assert_close(x.grad, weight.sum(0).expand(4, IN), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("rows", [2, 5])
def test_other_numbers_are_taken_as_torch_takes_them(rows: int) -> None:
    product, x = PackedLinear.of(*weights()), torch.ones(rows, IN)
    # not bfloat16: docs/experiments/memory-and-start.md#bfloat16-on-one-intel-machine
    with torch.inference_mode(), torch.autocast("cpu", torch.float16):
        assert product(x).dtype == torch.float16


def test_rows_of_something_wider() -> None:
    product, wide = PackedLinear.of(*weights()), torch.randn(7, 3 * IN)
    with torch.inference_mode():
        torch.testing.assert_close(product(wide[:, IN : 2 * IN]), product(wide[:, IN : 2 * IN].contiguous()))


def test_a_copy_multiplies_as_well() -> None:
    product, x = PackedLinear.of(*weights()), torch.ones(3, IN)
    copy = deepcopy(product)
    assert copy.table is not product.table
    with torch.inference_mode():
        torch.testing.assert_close(copy(x), product(x))


def test_what_is_not_packed() -> None:
    weight, bias = weights(torch.float64)
    assert PackedLinear.of(weight, bias).packed is None  # oneDNN would round it
    assert PackedLinear.of(weight[: OUT // 2].float(), bias[: OUT // 2].float()).packed is None  # small


def test_it_multiplies_by_weights_as_they_were() -> None:
    weight, bias = weights()
    before, x = PackedLinear.of(weight, bias), torch.ones(3, IN)
    with torch.inference_mode():
        expected = before(x)
        weight.zero_()
        torch.testing.assert_close(before(x), expected)
        torch.testing.assert_close(before(x[:1]), expected[:1], rtol=1e-4, atol=1e-4)
