"""What one layer sees, and what it costs, where the answer is known."""

from __future__ import annotations

import pytest

from regard.apps.lessons.complexity import exponent
from regard.apps.lessons.three_ways import CONVOLUTION, FUSED, LAYERS, OPEN, RNN, layers_until_seen, measure_memory

BY_NAME = {kind.name: kind for kind in LAYERS}


@pytest.mark.parametrize(("name", "length", "layers"), [(RNN, 9, 1), (OPEN, 9, 1), (CONVOLUTION, 9, 4), (FUSED, 2, 1)])
def test_layers_until_the_last_output_sees_the_first_input(name: str, length: int, layers: int) -> None:
    assert layers_until_seen(BY_NAME[name], length) == layers


def test_only_open_attention_keeps_a_matrix() -> None:
    memory, series = measure_memory((256, 512, 1024), width=8)
    assert [round(exponent(memory[name])) for name in (RNN, CONVOLUTION, OPEN, FUSED)] == [1, 1, 2, 1]
    assert memory[OPEN][-1][1] - memory[FUSED][-1][1] == pytest.approx(4.0, abs=0.1)  # 1,024² numbers of 4 bytes
    assert series[RNN][1][1] - series[RNN][0][1] == 5 * 256  # a product, a sum, a tanh and a look at it a step
    assert series[OPEN][0][1] == series[OPEN][2][1]
