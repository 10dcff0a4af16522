"""The settings of a call, over those of the recipe."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard.config import SearchSettings


def test_n_best_outputs_raise_the_beams(translator: regard.Pipeline, classifier_run: Path) -> None:
    assert translator.search_with(n_best=10).beams == 10
    assert translator.search_with(n_best=3).beams == translator.search.beams == 5
    assert (
        translator.search_with(SearchSettings(n_best=8)).n_best
        == translator.search_with(SearchSettings(n_best=8)).beams
    )
    assert translator.search_with(n_best=10, sample=True).beams == 5  # draws need no beams
    assert len(translator.translate("a b", n_best=7).alternatives) == 7
    with pytest.raises(regard.UserError, match=r"n_best = 4 exceeds search.beams = 2"):
        translator.search_with(beams=2, n_best=4)


def test_unknown_search_setting_is_refused(translator: regard.Pipeline) -> None:
    with pytest.raises(regard.UserError, match=r"beamz.*did you mean 'beams'"):
        translator.translate("a", beamz=3)
