"""Output layers for decoding against the model's own."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.inference.incremental.output import AveragedOutput, LinearOutput, PackedOutput
from regard.nn.embedding import Output

B, T, D, V = 2, 3, 4, 7


@pytest.mark.parametrize("large", [1, 2**18], ids=["packed", "small"])
@pytest.mark.parametrize("kind", [LinearOutput, PackedOutput])
def test_it_is_the_layer_and_so_is_a_part_of_it(monkeypatch, large: int, kind) -> None:
    monkeypatch.setattr("regard.kernels.packed_linear.LARGE", large)
    torch.manual_seed(6)
    layer, x = Output(D, V), torch.randn(B, T, D)
    nn.init.normal_(layer.bias)
    output, ids = kind.of(layer), torch.tensor([0, 2, V - 1])
    with torch.no_grad():
        for rows in (x, x[:1, :1]):
            torch.testing.assert_close(output(rows), layer(rows))
            torch.testing.assert_close(output.select(ids)(rows), layer(rows)[:, :, ids])
    assert output(x[:0]).shape == (0, T, V)
    assert (output.width, output.size, output.select(ids).size) == (D, V * (D + 1), 3 * (D + 1))


def test_a_packed_layer_has_no_gradient() -> None:
    assert not PackedOutput.of(Output(D, V))(torch.randn(B, T, D)).requires_grad


def test_an_average_is_of_probabilities() -> None:
    torch.manual_seed(1)
    layers = [LinearOutput.of(Output(width, V)) for width in (D, D + 1)]
    average, x = AveragedOutput(layers), torch.randn(B, T, 2 * D + 1)
    expected = (layers[0](x[..., :D]).softmax(-1) + layers[1](x[..., D:]).softmax(-1)) / 2
    torch.testing.assert_close(average(x).exp(), expected)
    assert (average.width, average.size) == (2 * D + 1, V * (2 * D + 3))
    ids = torch.tensor([1, 4])
    expected = (layers[0](x[..., :D])[..., ids].softmax(-1) + layers[1](x[..., D:])[..., ids].softmax(-1)) / 2
    torch.testing.assert_close(average.select(ids)(x).exp(), expected)
