"""Examples of the run, or of parallel files."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard.data.corpus import Example


def test_examples_come_from_the_run_or_from_files(
    translator: regard.Pipeline, language_run: Path, tmp_path: Path
) -> None:
    assert translator.examples() == translator.run.examples("test")
    assert translator.examples("dev") == translator.run.examples("dev")
    for name, text in (("source", "a\n\n"), ("reference", "b\nc\n"), ("empty", "")):
        (tmp_path / name).write_text(text)
    source, reference, empty = (tmp_path / name for name in ("source", "reference", "empty"))
    assert translator.examples(source=source, reference=reference) == [Example("a", "b"), Example("", "c")]
    assert regard.load(language_run).examples(reference=reference) == [Example("", "b"), Example("", "c")]
    for given, why in (
        ({"source": source}, "needs --reference"),
        ({"reference": reference}, "needs --source"),
        ({"source": source, "reference": empty}, "must be parallel"),
        ({"source": empty, "reference": empty}, "is empty"),
    ):
        with pytest.raises(regard.UserError, match=why):
            translator.examples(**given)
