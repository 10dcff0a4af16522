"""Tags of a sentence as ids and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.data.tag_labels import TagLabels
from regard.errors import UserError


def test_there_and_back(tmp_path: Path) -> None:
    codec = TagLabels.train(["DET NOUN VERB", "PRON VERB"])
    ids = codec.encode("PRON VERB DET")
    assert codec.size == 4 and codec.decode(ids) == "PRON VERB DET" and codec.tokens(ids) == ["PRON", "VERB", "DET"]
    assert codec.offsets("DET NOUN DET") == [(0, 3), (4, 8), (9, 12)] and codec.end == ()
    codec.save(tmp_path / "tags.json")
    assert TagLabels.load(tmp_path / "tags.json").same_as(codec)


def test_unknown_tags_are_named() -> None:
    codec = TagLabels.train(["DET NOUN"])
    assert codec.knows("NOUN DET") and not codec.knows("NOUN X")
    with pytest.raises(UserError, match="tag 'X' does not occur in the training data; its tags: DET, NOUN"):
        codec.encode("DET X")
