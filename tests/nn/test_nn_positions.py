"""Positions against the formulas of their papers."""

from __future__ import annotations

import math

import pytest
import torch

from regard.nn.positions import PositionalEmbedding, alibi, rotate, sinusoid


@pytest.mark.parametrize("width", [1, 6, 7])
def test_a_sinusoid_is_the_written_formula(width: int) -> None:
    positions = torch.tensor([[0, 1, 5], [2, 40, 300]])
    waves = sinusoid(positions, width)
    assert waves.shape == (2, 3, width)
    for place, vector in zip(positions.flatten().tolist(), waves.flatten(0, 1).tolist(), strict=True):
        for column in range(width):
            angle = place / 10000 ** (2 * (column // 2) / width)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            assert vector[column] == pytest.approx(expected, abs=1e-4)


def test_rotation_is_a_complex_product() -> None:
    torch.manual_seed(0)
    vectors, positions = torch.randn(2, 3, 4, 6), torch.tensor([0, 1, 7, 30])
    turned = rotate(vectors, positions)
    for t, place in enumerate(positions.tolist()):
        for pair in range(3):
            turn = complex(math.cos(place / 10000 ** (pair / 3)), math.sin(place / 10000 ** (pair / 3)))
            for b in range(2):
                for h in range(3):
                    before = complex(*vectors[b, h, t, 2 * pair : 2 * pair + 2].tolist())
                    after = complex(*turned[b, h, t, 2 * pair : 2 * pair + 2].tolist())
                    assert abs(before * turn - after) < 1e-5


def test_rotary_scores_depend_on_the_distance_only() -> None:
    torch.manual_seed(1)
    query, key = torch.randn(1, 2, 1, 8), torch.randn(1, 2, 1, 8)

    def score(query_place: int, key_place: int) -> torch.Tensor:
        return (rotate(query, torch.tensor([query_place])) * rotate(key, torch.tensor([key_place]))).sum(-1)

    for distance in (0, 1, 4, -3):
        expected = score(10 + distance, 10)
        for place in (3, 11, 57):
            assert torch.allclose(score(place + distance, place), expected, atol=1e-4)
    assert not torch.allclose(score(11, 10), score(14, 10), atol=1e-2)


@pytest.mark.parametrize(
    ("heads", "slopes"),
    [
        (8, [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]),  # the paper's own examples
        (16, [2 ** (-step / 2) for step in range(1, 17)]),
        (1, [1 / 256]),
    ],
)
def test_alibi_has_the_papers_slopes(heads: int, slopes: list[float]) -> None:
    queries, keys = torch.tensor([4, 5]), torch.arange(6)
    bias = alibi(heads, queries, keys)
    assert bias.shape == (1, heads, 2, 6)
    for head, slope in enumerate(slopes):
        for row, query in enumerate((4, 5)):
            for key in range(6):
                assert bias[0, head, row, key].item() == pytest.approx(-slope * abs(query - key), rel=1e-6)


KINDS = [(kind, combine) for kind in ("learned", "sinusoidal") for combine in ("add", "multiply", "concatenate")]


@pytest.mark.parametrize(("kind", "combine"), KINDS)
def test_positions_join_the_embeddings_as_named(kind: str, combine: str) -> None:
    torch.manual_seed(2)
    module, x = PositionalEmbedding(kind, combine, 6, 20), torch.randn(2, 4, 6)
    joined = module(x, 3)
    for t in range(4):
        vector = module.table[3 + t] if kind == "learned" else sinusoid(torch.tensor(3 + t), 6)
        for b in range(2):
            if combine == "add":
                expected = x[b, t] + vector
            elif combine == "multiply":
                expected = x[b, t] * vector
            else:
                expected = module.resize_proj.weight @ torch.cat((x[b, t], vector)) + module.resize_proj.bias
            assert torch.allclose(joined[b, t], expected, atol=1e-5)


@pytest.mark.parametrize(("kind", "combine"), KINDS)
def test_a_start_for_each_row(kind: str, combine: str) -> None:
    """Rows that start at -2 (two columns of padding on the left) and 1."""
    torch.manual_seed(3)
    module, x = PositionalEmbedding(kind, combine, 6, 20), torch.randn(2, 5, 6)
    joined = module(x, torch.tensor([-2, 1]))
    assert torch.allclose(joined[0, 2:], module(x[:, 2:], 0)[0], atol=1e-6)
    assert torch.allclose(joined[1], module(x, 1)[1], atol=1e-6)


def test_no_positions_is_the_identity() -> None:
    module, x = PositionalEmbedding("none", "add", 6, 20), torch.randn(2, 5, 6)
    assert module(x) is x and not list(module.parameters())


def test_the_table_ends() -> None:
    module = PositionalEmbedding("learned", "add", 6, 4)
    module(torch.zeros(1, 4, 6))
    with pytest.raises(IndexError):
        module(torch.zeros(1, 5, 6))
