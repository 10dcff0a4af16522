"""Class labels: a name is an id, and back; unknown names and files of other codecs are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.data.class_labels import ClassLabels
from regard.data.tokenizer import Tokenizer
from regard.errors import UserError


def test_labels(tmp_path: Path) -> None:
    labels = ClassLabels.train(["positive", "negative", "positive"])
    assert labels.names == ["negative", "positive"] and labels.size == 2
    assert labels.encode("negative") == [0] and labels.encode_batch(["positive", "negative"]) == [[1], [0]]
    assert labels.decode([1]) == "positive" and labels.tokens([1, 0]) == ["positive", "negative"]
    assert labels.knows("positive") and not labels.knows("neutral") and labels.end == ()
    labels.save(tmp_path / "labels.json")
    loaded = ClassLabels.load(tmp_path / "labels.json")
    assert loaded.names == labels.names and loaded.same_as(labels) and not loaded.same_as(ClassLabels(["positive"]))
    with pytest.raises(UserError, match="'neutral' does not occur in the training data"):
        labels.encode("neutral")


def test_a_tokenizer_is_no_class_labels(tmp_path: Path) -> None:
    Tokenizer.train(["abc"], "character").save(tmp_path / "t.json")
    with pytest.raises(UserError, match="holds a tokenizer, not class labels"):
        ClassLabels.load(tmp_path / "t.json")
