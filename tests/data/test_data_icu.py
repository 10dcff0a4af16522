"""ICU messages: every combination of branches is a sentence, and the message is put together again."""

import pytest

from regard.data.icu import MOST, assemble, assignments, compare_messages, parse_message, resolve


def sentences(text: str) -> dict[str, str]:
    message = parse_message(text)
    assert message is not None
    made = assignments(message)
    assert made is not None
    return {" ".join(f"{name}={key}" for name, key in one): resolve(message, one) for one in made}


def rebuilt(text: str) -> str:
    message = parse_message(text)
    assert message is not None
    return assemble(message, {one: resolve(message, one) for one in assignments(message) or []})


def test_a_choice_inside_a_sentence_becomes_whole_sentences():
    text = "{n, plural, one {# day} other {# days}} left"
    assert sentences(text) == {"n=one": "{#} day left", "n=other": "{#} days left"}
    assert rebuilt(text) == "{n, plural, one {# day left} other {# days left}}"


def test_two_choices_by_one_argument_are_one_and_by_two_are_nested():
    text = "{n, plural, one {a} other {b}} {n, plural, =0 {x} other {y}} {g, select, male {he} other {they}}"
    assert sentences(text)["n==0 g=male"] == "b x he"
    assert sentences(text)["n=one g=other"] == "a y they"
    assert len(sentences(text)) == 6
    assert rebuilt(text).startswith("{n, plural, one {{g, select, male {a y he} other {a y they}}} =0 {")


@pytest.mark.parametrize(
    "text",
    [
        "{n, plural, offset:1 =0 {no cat} one {cat of {x}} other {# cats}}",
        "{n, plural, one {It''s '#'1} other {# l''{x}}}",
        "{g, select, male {{n, plural, one {his #} other {his #s}}} other {theirs}}",
    ],
)
def test_what_is_put_together_says_the_same(text: str):
    assert sentences(rebuilt(text)) == sentences(text)


@pytest.mark.parametrize(
    "text", ["{n, plural, one {a}}", "{n, plural, one {a} other {b}", "{n, plural, one a other {b}}"]
)
def test_a_choice_that_icu_would_refuse_is_not_taken_apart(text: str):
    assert parse_message(text) is None


def test_too_many_combinations_are_left_alone():
    message = parse_message(" ".join(f"{{n{i}, plural, one {{a}} other {{b}}}}" for i in range(7)))
    assert message is not None and MOST < 2**7 and assignments(message) is None


def test_messages_are_compared_branch_by_branch():
    source = "{n} {n, plural, one {day} other {days}}"
    assert not compare_messages(source, "{n, plural, one {{n} jour} other {{n} jours}}")
    assert str(compare_messages(source, "{n, plural, one {{n} jour} other {jours}}")) == "{n} missing"
    assert str(compare_messages(source, "{n} jours")) == "{n, plural} missing"
    assert not compare_messages("{a}", "{a}") and compare_messages("{a}", "")
