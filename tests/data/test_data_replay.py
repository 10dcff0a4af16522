"""Replayed pairs join train, never dev or test, and never outnumber what is new."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.config import DataSettings
from regard.data import load_corpus
from regard.errors import UserError


def settings(folder: Path, old: int) -> DataSettings:
    (folder / "new.tsv").write_text("".join(f"new {i}\tneu {i % 97}{i}\n" for i in range(60)))
    (folder / "old.tsv").write_text("".join(f"{'new' if i == 3 else 'old'} {i}\talt {i}\n" for i in range(old)))
    files = {"pairs": str(folder / "new.tsv"), "replay": str(folder / "old.tsv")}
    return DataSettings(**files, dev_examples=10, test_examples=10)


def test_few_are_all_taken(tmp_path: Path) -> None:
    config = settings(tmp_path, 20)
    plain, mixed = (load_corpus(c) for c in (config.model_copy(update={"replay": None}), config))
    assert (mixed.dev, mixed.test) == (plain.dev, plain.test)
    held_out = {example.source for example in (*plain.dev, *plain.test)}
    kept = [f"old {i}" if i != 3 else "new 3" for i in range(20)]
    expected = [source for source in kept if source not in held_out]
    assert [example.source for example in mixed.train] == [e.source for e in plain.train] + expected
    assert any(f"{len(expected)} of 20 pairs of data.replay" in note for note in mixed.notes)


def test_many_are_drawn_by_the_seed(tmp_path: Path) -> None:
    config = settings(tmp_path, 500)
    mixed, again = load_corpus(config), load_corpus(config)
    assert len(mixed.train) == 80 and mixed.train == again.train
    assert sum(example.target.startswith("alt") for example in mixed.train) == 40


def test_other_tasks_refuse_it(tmp_path: Path) -> None:
    (tmp_path / "old.tsv").write_text("a\tb\n")
    with pytest.raises(UserError, match=r"data\.replay = .* is of translations"):
        load_corpus(DataSettings(corpus="shapes", replay=str(tmp_path / "old.tsv"), examples=50))
