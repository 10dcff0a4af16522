"""Calibration: reliability by hand, a fit on outputs whose truth is known, and files."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from regard.errors import UserError
from regard.evaluation.calibration import (
    Calibration,
    CalibrationReport,
    Reliability,
    TokenScores,
    is_right,
    reliability_chart,
    render_calibration,
)


def drawn(count: int, seed: int, temperature: float = 3.0) -> tuple[list[TokenScores], list[bool]]:
    """Outputs of a model that is too sure: the odds of being right are the model's own, divided by a temperature."""
    generator = np.random.default_rng(seed)
    scores, right = [], []
    for _ in range(count):
        length = int(generator.integers(2, 9))
        logs = -generator.exponential(0.05, length) * generator.choice([0.1, 3.0])
        score = TokenScores(tuple(logs.tolist()), tuple((1 + logs).tolist()), length)
        own = score.raw
        odds = math.log(own / max(1 - own, 1e-9)) / temperature
        scores.append(score)
        right.append(bool(generator.random() < 1 / (1 + math.exp(-odds))))
    return scores, right


def test_the_error_is_that_of_its_formula():
    reliability = Reliability.of([0.05, 0.05, 0.95, 0.95, 0.96], [False, True, True, True, False])
    low, high = reliability.bins
    assert (low.count, low.confidence, low.right) == (2, pytest.approx(0.05), 0.5)
    assert (high.count, high.right) == (3, pytest.approx(2 / 3))
    assert reliability.error == pytest.approx((2 * 0.45 + 3 * (2.86 / 3 - 2 / 3)) / 5)
    assert Reliability.of([1.0, 0.0], [True, False]).error == 0


def test_a_model_that_is_too_sure_is_corrected():
    calibration = Calibration.fit(*drawn(2000, 1), "exact")
    report = CalibrationReport.of(calibration, *drawn(4000, 2))
    assert report.before.error > 0.1
    assert report.after.error < 0.03
    assert report.surest_half > report.right > report.other_half


def test_a_model_that_is_calibrated_stays_so():
    calibration = Calibration.fit(*drawn(2000, 3, temperature=1.0), "exact")
    report = CalibrationReport.of(calibration, *drawn(4000, 4, temperature=1.0))
    assert report.before.error < 0.03 and report.after.error < 0.03


@pytest.mark.parametrize("right", [True, False])
def test_outputs_that_are_all_right_or_all_wrong(right: bool):
    scores, _ = drawn(100, 5)
    calibration = Calibration.fit(scores, [right] * 100, "exact")
    confidences = [calibration.confidence(score) for score in scores]
    assert all(math.isfinite(value) for value in confidences)
    assert (min(confidences) > 0.9) if right else (max(confidences) < 0.1)


def test_impossible_tokens_have_finite_features():
    score = TokenScores((-1e9, 0.0), (-50.0, 60.0), 1)
    assert np.isfinite(score.features()).all() and score.raw == 0
    assert np.isfinite(TokenScores((0.0,), (80.0,), 1).features()).all()


def test_it_is_stored_and_read_again(tmp_path: Path):
    scores, right = drawn(100, 6)
    calibration = Calibration.fit(scores, right, "chrf")
    calibration.write(tmp_path / "calibration.json")
    read = Calibration.read(tmp_path / "calibration.json")
    assert read == calibration and read.confidence(scores[0]) == calibration.confidence(scores[0])


@pytest.mark.parametrize("content", ["{", '{"format": 2, "features": []}', "[]", '{"format": 1}'])
def test_a_damaged_file_is_refused_in_one_line(content: str, tmp_path: Path):
    path = tmp_path / "calibration.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match="run `regard calibrate") as raised:
        Calibration.read(path)
    assert "\n" not in str(raised.value)


def test_too_few_outputs_are_refused():
    with pytest.raises(UserError, match="9 outputs are too few"):
        Calibration.fit(*drawn(9, 7), "exact")


def test_what_is_right():
    assert is_right("a b", "a b", "exact") and not is_right("a b", "a c", "exact")
    assert is_right("the red door is open", "the red door is open.", "chrf")
    assert not is_right("the red door", "a window", "chrf")


def test_the_report_is_a_table_and_a_picture():
    calibration = Calibration.fit(*drawn(500, 8), "exact")
    report = CalibrationReport.of(calibration, *drawn(500, 9))
    text = render_calibration(report)
    assert f"ECE before {report.before.error:.3f}, after {report.after.error:.3f}" in text
    assert sum(one.count for one in report.after.bins) == 500
    assert reliability_chart(report).startswith("<svg")
    json.dumps(report.as_dict())
    assert "mostly chance" not in text
    assert "mostly chance" in render_calibration(CalibrationReport.of(calibration, *drawn(50, 9)))
