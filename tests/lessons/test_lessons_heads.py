"""How far heads are apart, and where they look, on weights whose answer is known."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.lessons.heads import apart, places, role


def looking(keys: list[int], size: int) -> Tensor:
    """One head (T, S) that looks at one key a query."""
    return torch.eye(size)[keys]


def test_heads_are_apart_by_the_weight_on_other_keys() -> None:
    first, second = looking([0, 1, 2], 4), looking([3, 1, 0], 4)
    assert apart(torch.stack([first, first])[None]) == 0
    assert apart(torch.stack([first, second])[None]) == pytest.approx(2 / 3)
    assert apart(torch.stack([first, torch.full((3, 4), 0.25)])[None]) == pytest.approx(0.75)
    assert apart(torch.stack([first, first, second])[None]) == pytest.approx(4 / 9)  # two of three pairs differ
    assert apart(first[None, None]) == 0  # one head has nobody to differ from


@pytest.mark.parametrize(
    ("keys", "kind", "where"),
    [
        ([3, 2, 1, 0, 4], "cross_attention", "the letter to write"),
        ([4, 3, 2, 1, 0], "cross_attention", "the letter just written"),
        ([2, 1, 0, 4, 4], "cross_attention", "the letter to write after it"),
        ([0, 0, 1, 2, 3], "decoder", "the previous"),
        ([0, 0, 0, 0, 0], "decoder", "the first"),
        ([0, 1, 2, 3, 4], "decoder", "itself"),
        ([1, 2, 3, 4, 4], "encoder", "the next"),
        ([3, 2, 1, 0, 4], "encoder", "its mirror image"),
        ([4, 4, 4, 4, 4], "encoder", "the end"),
    ],
)
def test_a_head_has_the_role_that_it_was_given(keys: list[int], kind: str, where: str) -> None:
    found, share = role(looking(keys, 5)[None].expand(2, -1, -1), kind, length=4)
    assert found == where and share == pytest.approx(1)


@pytest.mark.parametrize("kind", ["cross_attention", "encoder", "decoder"])
def test_places_are_there_and_a_decoder_never_looks_ahead(kind: str) -> None:
    pairs = [pair for each in places(kind, 6).values() for pair in each]
    assert all(0 <= query < 6 and 0 <= key <= 6 for query, key in pairs)
    assert kind != "decoder" or all(key <= query for query, key in pairs)
