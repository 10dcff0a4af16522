"""Every lesson runs at the tiny size; verdicts, reports and the worker pool do what they say."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from regard.apps.lessons import LESSONS, Finding, Lesson, LessonResult, Table, Verdict, WorkerPool, run_lessons
from regard.apps.lessons.lesson import bound, margin, mean_range
from regard.apps.lessons.report import html, text
from regard.cli import main


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_lesson_runs_at_the_tiny_size(lesson: Lesson) -> None:
    (result,) = run_lessons([lesson], "tiny", workers=1)
    finding = result.finding
    assert finding.experiment and finding.tables and finding.figures and finding.verdicts
    for figure in finding.figures:
        ElementTree.fromstring(figure)
    for table in finding.tables:
        assert table.rows and all(len(row) == len(table.titles) for row in table.rows)
    assert lesson.name in text(result) and lesson.name in html([result])
    assert json.loads(json.dumps(result.as_dict()))["verdicts"]


def test_names_are_unlike_and_claims_are_sentences() -> None:
    assert len({lesson.name for lesson in LESSONS}) == len(LESSONS)
    assert all(lesson.claim.endswith(".") and lesson.after for lesson in LESSONS)
    assert all(lesson.formula and len(lesson.model) > 2 for lesson in LESSONS)


def test_a_margin_holds_where_every_seed_does() -> None:
    assert margin("a", [1.0, 2.0], "points").holds
    assert not margin("a", [3.0, -0.1], "points").holds
    assert not margin("a", [3.0, 4.0], "points", more_than=3).holds
    assert margin("a", [3.0, 4.0], "points").margin == "3.5 points (3 to 4 over 2 seeds)"
    assert bound("a", 1e-7, 1e-6).holds and not bound("a", 1e-5, 1e-6).holds
    assert mean_range([1.0, 2.0]) == "1.5 (1.0 to 2.0)" and mean_range([1.0]) == "1.0"


def result_of(holds: bool) -> LessonResult:
    lesson = Lesson("name", "A claim <of> ours.", "someone", lambda budget: finding)
    finding = Finding("done", (Table(("a", "b"), (("x & y", "1"),)),), ("<svg/>",), (Verdict("part", holds, "by 2"),))
    return LessonResult(lesson, finding, "quick", 3, 2.0)


def test_a_report_says_what_holds() -> None:
    assert "verdict: holds" in text(result_of(True)) and "does not hold here" in text(result_of(False))
    page = html([result_of(True), result_of(False)])
    assert "A claim &lt;of&gt; ours." in page and "x &amp; y" in page and page.count("<svg/>") == 2
    assert (
        page.index("does not hold here") < page.index("<svg/>") < page.index("x &amp; y")
    )  # the verdict, the picture, numbers


def double(number: int) -> int:
    import torch

    assert torch.get_num_threads() == 1
    return 2 * number


@pytest.mark.parametrize("workers", [1, 2])
def test_the_pool_answers_in_order_and_reports_progress(workers: int) -> None:
    reports = []
    with WorkerPool(workers, lambda *report: reports.append(report)) as pool:
        assert pool.run("doubling", double, [3, 1, 2]) == [6, 2, 4]
    assert reports == [("doubling", done, 3) for done in range(4)]


def test_the_command(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["lesson"]) == 0
    assert "bottleneck" in capsys.readouterr().out
    assert main(["lesson", "parameters", "--size", "tiny", "--workers", "1"]) == 0
    assert "300" in capsys.readouterr().out
    assert "<svg" in (tmp_path / "runs" / "lessons" / "parameters.html").read_text(encoding="utf-8")
    assert main(["lesson", "parameters", "--size", "tiny", "--workers", "1", "--json", "--out", "a.html"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["lesson"] == "parameters"


@pytest.mark.parametrize("words", [["bottelneck"], ["parameters", "--seeds", "0"], ["parameters", "--out", "a.svg"]])
def test_bad_input_gets_one_line(words, capsys) -> None:
    assert main(["lesson", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and error.startswith("regard: ")
