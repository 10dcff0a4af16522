"""Held-out splits: no source in two of them, sizes, something left to train on."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from regard.config import DataSettings
from regard.data.corpus import load_corpus
from regard.data.examples import Example
from regard.data.splits import carve, default_count, overlap
from regard.errors import UserError


def lines(path: Path, *texts: str) -> str:
    path.write_bytes("".join(f"{text}\n" for text in texts).encode())
    return str(path)


def test_carving_keeps_a_source_on_one_side(tmp_path: Path) -> None:
    # every source three times, with two different targets
    path = lines(tmp_path / "d.tsv", *(f"source {n % 200}\ttarget {n % 400}" for n in range(600)))
    corpus = load_corpus(DataSettings(pairs=path, dev_examples=30, test_examples=60))
    sources = {name: {e.source for e in rows} for name, rows in corpus.splits().items()}
    assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (510, 30, 60)
    assert not sources["train"] & sources["dev"]
    assert not sources["train"] & sources["test"]
    assert not sources["dev"] & sources["test"]
    assert corpus == load_corpus(DataSettings(pairs=path, dev_examples=30, test_examples=60))
    assert corpus.dev != load_corpus(DataSettings(pairs=path, dev_examples=30, test_examples=60, seed=2)).dev


def test_how_many_are_carved_off() -> None:
    assert [default_count(n) for n in (3, 100, 1000, 100_000)] == [1, 5, 50, 1000]
    big = [Example(f"s{n // 50}", str(n)) for n in range(200)]  # four sources of 50 pairs: no group fits into 10
    carved = carve(big, 10, 10, seed=1)
    assert [len(part) for part in (carved.train, carved.dev, carved.test)] == [100, 50, 50]


@given(sizes=st.lists(st.integers(1, 60), min_size=3, max_size=12), dev=st.integers(1, 30), test=st.integers(1, 30))
def test_something_is_always_left_to_train_on(sizes: list[int], dev: int, test: int) -> None:
    examples = [Example(f"s{group}", f"t{group}") for group, size in enumerate(sizes) for _ in range(size)]
    try:
        carved = carve(examples, dev, test, seed=1)
    except UserError:
        return
    assert carved.train and carved.dev and carved.test
    assert not overlap(carved.train, [*carved.dev, *carved.test])
