"""Tokens of the same pairs begin side by side."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.data import company
from regard.data.batches import Ragged
from regard.data.company import keep_company
from regard.data.tokenizer import EOS

WORDS, SHIFT = 40, 50  # source words 3 to 42; word w becomes w + 50, anywhere in the sentence
SIZE = WORDS + SHIFT + 4  # of one vocabulary for both sides; its last entry stands nowhere


def ragged(rows: list[list[int]]) -> Ragged:
    starts = np.cumsum([0, *(len(row) for row in rows)])
    return Ragged(np.asarray([id for row in rows for id in row], dtype=np.int32), starts)


def sentences(count: int, shift: int) -> tuple[Ragged, Ragged]:
    random = np.random.default_rng(1)
    sources = [random.choice(WORDS, random.integers(2, 9), replace=True) + 3 for _ in range(count)]
    targets = [random.permutation(source + shift) for source in sources]
    return ragged([[*row, EOS] for row in sources]), ragged([[*row, EOS] for row in targets])


def nearest(these: Tensor, those: Tensor) -> list[int]:
    near = these @ those.t()
    if these is those:
        near.fill_diagonal_(-1)
    return near.argmax(1).tolist()


def plainly(source: Ragged, target: Ragged, size: int, width: int) -> Tensor:
    """The cosines of all vectors, by the formula: pair by pair, the whole matrix, all its eigenvalues."""
    together = torch.zeros(size, size, dtype=torch.float64)
    for row in range(len(source.lengths)):
        inside = sorted({*source.row(row).tolist(), *target.row(row).tolist()})
        for one in inside:
            together[one, inside] += 1
    alone = together.diagonal().clone()
    assert (together == 1).sum() > 100  # what stands together once tells nothing
    together[(together == 1) & ~torch.eye(size, dtype=torch.bool)] = 0
    mutual = (together * len(source.lengths) / (alone[:, None] * alone)).log().nan_to_num(0, 0, 0).clamp_min(0)
    values, vectors = torch.linalg.eigh(mutual * together / (together + 1))
    found = vectors[:, -width:] * values[-width:].clamp_min(0).sqrt()
    found[mutual.sum(1) == 0] = 0
    return torch.nn.functional.normalize(found, dim=1) @ torch.nn.functional.normalize(found, dim=1).t()


def test_a_word_begins_beside_its_translation() -> None:
    source, target = sentences(600, SHIFT)
    table = keep_company(source, target, (SIZE, SIZE), True, 24, seed=1).source(24)
    words = list(range(3, WORDS + 3))
    found = nearest(table, table)
    assert [found[word] for word in words] == [word + SHIFT for word in words]
    assert [found[word + SHIFT] for word in words] == words


def test_two_vocabularies_have_a_table_each() -> None:
    source, target = sentences(600, 0)  # the same ids mean other words
    found = keep_company(source, target, (WORDS + 3, WORDS + 5), False, 24, seed=1)
    assert found.source(24).shape == (WORDS + 3, 24) and found.target(24).shape == (WORDS + 5, 24)
    words = range(3, WORDS + 3)
    beside = nearest(found.source(24), found.target(24))
    assert [beside[word] for word in words] == list(words)


@pytest.mark.parametrize("width", [8, 24])
@pytest.mark.parametrize(("rounds", "mean", "most"), [(company.ROUNDS, 0.02, 0.4), (80, 1e-4, 1e-3)])
def test_it_is_what_the_formula_says(
    width: int, rounds: int, mean: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """About, with as many rounds as there are; and with many."""
    monkeypatch.setattr(company, "ROUNDS", rounds)
    source, target = sentences(150, SHIFT)
    table = keep_company(source, target, (SIZE, SIZE), True, width, seed=1).source(width)
    away = (table @ table.t() - plainly(source, target, SIZE, width).float()).abs()
    assert away.mean() < mean and away.max() < most


def test_vectors_are_one_long_and_nought_where_nothing_stands() -> None:
    source, target = sentences(300, SHIFT)
    found = keep_company(source, target, (SIZE, SIZE), True, 24, seed=1)
    for width in (24, 10):  # the sides of a model may differ
        lengths = found.target(width).norm(dim=1)
        torch.testing.assert_close(lengths[3 : WORDS + 3], torch.ones(WORDS))
        assert lengths[SIZE - 1] == lengths[EOS] == 0  # it stands nowhere, or everywhere
    spread = found.source(24)[3 : WORDS + 3].square().mean(0)
    assert spread.max() < 2 * spread.min()  # every dimension has its share


def test_a_vocabulary_smaller_than_the_width() -> None:
    source, target = sentences(300, SHIFT)
    table = keep_company(source, target, (SIZE, SIZE), True, 256, seed=1).source(256)
    assert table.shape == (SIZE, 256) and table.isfinite().all()
    torch.testing.assert_close(table[3 : WORDS + 3].norm(dim=1), torch.ones(WORDS))


def test_the_same_seed_gives_the_same_vectors() -> None:
    one, same, other = (
        keep_company(*sentences(300, SHIFT), (SIZE, SIZE), True, 24, seed).source(24) for seed in (1, 1, 2)
    )
    assert torch.equal(one, same) and not torch.allclose(one, other)


def test_many_pairs_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = sentences(2000, SHIFT)
    *_, whole = company._couples(source, target, 0, SIZE)
    monkeypatch.setattr(company, "CELLS", 40_000)
    *found, some = company._couples(source, target, 0, SIZE)
    assert whole == 2000 > 1000 > some > 300
    rows = range(0, 2000, -(-2000 // some))
    alone = [ragged([side.row(row).tolist() for row in rows]) for side in (source, target)]
    for one, other in zip(found, company._couples(*alone, 0, SIZE), strict=False):
        np.testing.assert_array_equal(one, other)
