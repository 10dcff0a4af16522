"""Results as lines: one for each input, or one for each of the n best."""

from __future__ import annotations

import json

from regard.pipeline import Result, output_line

BEST = Result("b\nc\\", -0.5, ("b",), -0.5)
SECOND = Result("d", -1.25, ("d",), -1.25)
SEVERAL = Result("b\nc\\", -0.5, ("b",), -0.5, alternatives=(BEST, SECOND))


def test_line_breaks_are_escaped_unless_they_are_wanted() -> None:
    assert output_line(1, BEST) == "b\\nc\\\\"
    assert output_line(1, BEST, escape=False) == BEST.text
    assert output_line(1, Result("a\\b", 0.0, (), 0.0)) == "a\\b"  # nothing to escape


def test_n_best_are_numbered_and_scored() -> None:
    assert output_line(7, SEVERAL, n_best=2) == "7\t-0.5000\tb\\nc\\\\\n7\t-1.2500\td"
    assert output_line(7, Result("", 0.0, (), 0.0, False, "too long"), n_best=2) == ""


def test_classes_have_probabilities() -> None:
    result = Result("de", -0.1, ("de",), -0.1, probabilities={"de": 0.9, "fr": 0.1})
    assert output_line(2, result) == "de\t0.9000"
    assert output_line(2, result, n_best=2) == "2\t0.9000\tde\n2\t0.1000\tfr"


def test_json_is_one_line() -> None:
    line = output_line(1, SEVERAL, as_json=True)
    assert "\n" not in line and [one["text"] for one in json.loads(line)["alternatives"]] == [BEST.text, "d"]
