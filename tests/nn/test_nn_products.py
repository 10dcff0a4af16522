"""What is multiplied by copies of weights is what is multiplied by the weights."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.nn import products
from regard.nn.products import LARGE, Product

IN, OUT = 129, LARGE // 128


def weights(kind: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    return torch.randn(OUT, IN, generator=generator, dtype=kind), torch.randn(OUT, generator=generator, dtype=kind)


@pytest.mark.parametrize("packs", [True, False])
@pytest.mark.parametrize("lasting", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 5, 130])
def test_a_product_is_linear(monkeypatch: pytest.MonkeyPatch, packs: bool, lasting: bool, rows: int) -> None:
    """Whether this torch packs or not."""
    if not packs:
        monkeypatch.setattr(products, "_can_pack", lambda: False)
    weight, bias = weights()
    x = torch.randn(rows, IN, generator=torch.Generator().manual_seed(3))
    for own in (bias, None):
        product = Product.of(weight.requires_grad_(), own, lasting)
        assert (product.packed is not None) == (packs and products._can_pack())
        found = product(x)
        torch.testing.assert_close(found, F.linear(x, weight, own).detach(), rtol=1e-4, atol=1e-4)
        assert not found.requires_grad


def test_the_pinned_torch_packs_on_this_kind_of_machine() -> None:
    """So that it is noticed where an operation that torch promises nobody goes away."""
    assert products._can_pack() == (
        torch.backends.mkldnn.is_available() and torch.backends.cpu.get_cpu_capability().startswith("AVX")
    )


def test_what_is_not_packed() -> None:
    weight, _ = weights(torch.float64)
    assert Product.of(weight).packed is None  # oneDNN would round it
    assert Product.of(weight[: OUT // 2].float()).packed is None  # small


def test_it_multiplies_by_weights_as_they_were() -> None:
    weight, bias = weights()
    before, x = Product.of(weight, bias), torch.ones(2, IN)
    expected = before(x)
    weight.zero_()
    torch.testing.assert_close(before(x), expected)
    torch.testing.assert_close(before(x[:1]), expected[:1], rtol=1e-4, atol=1e-4)
