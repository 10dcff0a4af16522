"""Classes and their probabilities."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard.data.corpus import Example
from regard.evaluation import ClassifierReport


def test_a_classifier_names_and_weighs(classifier_run: Path) -> None:
    model = regard.load(classifier_run)
    result = model.translate("Vereinigtes Königreich")
    assert result.text == max(result.probabilities, key=lambda name: result.probabilities[name])
    assert sum(result.probabilities.values()) == pytest.approx(1, abs=1e-5)


def test_a_class_that_was_never_shown_counts_as_wrong(classifier_run: Path) -> None:
    model = regard.load(classifier_run)
    label = model.translate("Königreich").text
    report = model.evaluate([Example("Königreich", label), Example("Königreich", "Klingon")], model.search)
    assert isinstance(report, ClassifierReport)
    assert report.accuracy.value == 50 and report.unknown == 1
