"""A language model continues a text."""

from __future__ import annotations

from pathlib import Path

import regard


def test_a_text_generator_continues_a_text(language_run: Path) -> None:
    model = regard.load(language_run)
    result = model.translate("The ", max_tokens=12)
    assert len(result.tokens) <= 12 and result.text
    assert result.text == model.translate("The ", max_tokens=12).text
