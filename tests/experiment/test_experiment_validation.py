"""Validation stays short, whatever the development set holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.config import SearchSettings, settle
from regard.experiment import validation
from regard.experiment.setup import Setup, new_setup
from regard.inference.engine import DecodingModel


def setup(folder: Path, dev: list[tuple[str, str]], metric: str = "exact", **changes: Any) -> Setup:
    train = "".join(f"{i}{i}\t{i}\n" for i in range(60))
    (folder / "train.tsv").write_text(train)
    (folder / "dev.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in dev))
    data = {"pairs": str(folder / "train.tsv"), "dev_pairs": str(folder / "dev.tsv"), "max_tokens": 200}
    model = {"preset": "lstm-dot", "width": 8}
    training = {"steps": 2, "metric": metric, "threads": 1}
    tokenizer = {"kind": "character"}
    return new_setup(settle({"data": data | changes, "model": model, "training": training, "tokenizer": tokenizer}))


def test_only_encoded_pairs_are_decoded_and_a_long_one_does_not_set_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = [(f"{i}{i}", f"{i}") for i in range(100, 130)]
    dev = [("1" * 5000, "1"), usual[0], ("1", "2" * 5000), *usual[1:], ("12", "3" * 190)]
    made = setup(tmp_path, dev)
    kept = [usual[0], *usual[1:], ("12", "3" * 190)]
    calls: list[tuple[list[str], SearchSettings]] = []

    class Recorded(DecodingModel):
        def decode(self, sources: Sequence[Sequence[int]], search: SearchSettings) -> Any:
            calls.append(([made.source.decode(row) for row in sources], search))
            return super().decode(sources, search)

    monkeypatch.setattr(validation, "DecodingModel", Recorded)
    references: list[Sequence[str]] = []
    exact = validation.metrics.exact_match
    monkeypatch.setattr(
        validation.metrics, "exact_match", lambda texts, known: references.append(known) or exact(texts, known)
    )
    validation.make_validate(made)()
    ((sources, search),) = calls
    assert sources == [source for source, _ in kept]
    assert references == [[target for _, target in kept]]
    assert search.max_tokens == 16


@pytest.mark.parametrize(("metric", "expected"), [("exact", 2), ("bleu", 3), ("chrf", 3)])
def test_sentences_are_judged_by_more_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metric: str, expected: int
) -> None:
    assert validation.DECODED["bleu"] == validation.DECODED["chrf"] > validation.DECODED["exact"]
    monkeypatch.setattr(validation, "DECODED", {"exact": 2, "bleu": 3, "chrf": 3})
    made = setup(tmp_path, [(f"{i}{i}", f"{i}") for i in range(100, 130)], metric)
    counts: list[int] = []

    class Counted(DecodingModel):
        def decode(self, sources: Sequence[Sequence[int]], search: SearchSettings) -> Any:
            counts.append(len(sources))
            return super().decode(sources, search)

    monkeypatch.setattr(validation, "DecodingModel", Counted)
    assert metric in validation.make_validate(made)()
    assert counts == [expected]


def test_the_limit_leaves_room_for_usual_references() -> None:
    lengths = np.arange(1, 101)
    assert validation.output_limit(lengths) == 143  # 1.5 × 95
    assert validation.output_limit(np.array([40])) == 60
    assert validation.output_limit(np.array([5, 5, 5, 5, 5000])) == 16


def test_a_language_model_gives_a_text_without_source_all_its_positions(tmp_path: Path) -> None:
    def longest(source: str) -> int:
        lines = [{"source": source, "target": "a" * length} for length in range(1, 40)]
        file = tmp_path / "texts.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        data = {key: str(file) for key in ("pairs", "dev_pairs", "test_pairs")}
        model = {"preset": "transformer-language", "width": 8, "heads": 2, "depth": 1, "positions": "learned"}
        tree = {"data": data, "model": model | {"max_positions": 32}, "tokenizer": {"kind": "character"}}
        made = new_setup(settle(tree))
        assert made.model.max_total == 32
        validation.make_validate(made)()  # the longest fit
        return int(made.train.target_lengths.max()) - 1  # without EOS

    assert longest("") == 30
    assert longest("x") == 15
