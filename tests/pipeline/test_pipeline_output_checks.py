"""What is said of outputs: each line's problems, and the sums of a file."""

from regard.data.glossary import TermUse
from regard.pipeline.output_checks import OutputChecks, doubtful, line_problems
from regard.pipeline.result import Result

RIGHT = Result("a", 0.0, (), 0.0)
MISSING = Result("a", 0.0, (), 0.0, missing_numbers=("5", "7"))
REVIEW = Result("a", 0.0, (), 0.0, review="{x} missing")
TERMS = Result("a", 0.0, (), 0.0, terms=(TermUse("b", "c", True, True), TermUse("d", "e", False)))
CUT = Result("a", 0.0, (), 0.0, finished=False)
NONE = Result("", 0.0, (), 0.0, finished=False, problem="too long")


def test_each_result_says_what_to_look_at():
    assert [doubtful(result) for result in (RIGHT, MISSING, REVIEW, TERMS)] == [
        "",
        "number 5 7 missing",
        "{x} missing",
        "term e missing",
    ]
    assert line_problems(3, RIGHT) == []
    assert line_problems(3, NONE) == ["line 3: too long; its output is empty"]
    assert line_problems(3, REVIEW) == ["line 3: look at this output: {x} missing"]


def test_sums_of_a_file():
    checks = OutputChecks(numbers=True)
    for number, result in enumerate([RIGHT, MISSING, REVIEW, TERMS, CUT, NONE], start=1):
        checks.add(number, result)
    assert checks.summary() == [
        "1 of 6 outputs lack a number of their source (line 2: 5 7)",
        "glossary: 1 of 2 terms kept, 1 of them forced",
        "1 of 6 outputs reached the length limit; raise --max-tokens for more",
    ]
    assert OutputChecks(numbers=False).summary() == []


def test_tasks_that_compute_with_numbers_are_not_asked_for_them():
    checks = OutputChecks(numbers=False)
    checks.add(1, MISSING)
    assert checks.summary() == []
