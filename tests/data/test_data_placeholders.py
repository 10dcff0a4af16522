"""Placeholders are found whole, told apart from prose, and compared."""

import pytest

from regard.data.placeholders import compare_placeholders, find_placeholders


def found(text: str) -> list[str]:
    return [placeholder.text for placeholder in find_placeholders(text)]


@pytest.mark.parametrize(
    "text",
    [
        "%s %d %5.2f %1$s %(name)s %(n)d %@ %lu %% %1 %L2 %n",
        "{name} {0} {} {x!r:>10} {:d} {{count}} {{ a.b }} ${x} %{y} #{z} { spaced } {n, number} {d, date, short}",
        "<b> </b> <br/> <br /> <a href='x>y'> </a> <x1/> <g1> </g1> <!-- a --> <ph id='1'/>",
        "[X7X] [X120X]",
        "&amp; &#160; &#xA0; &nbsp;",
        "https://a.org/c?d={e}&f=%20 http://x.y/z_(q) www.a.org me+you@mail.ex-a.org",
        "AB-1234 ESP32 UTF-8 COVID-19 X_1Y2",
        "$HOME $NAME$ $[officename] %PRODUCTNAME %PATH%",
    ],
)
def test_each_kind_is_found_whole(text: str):
    if text.startswith(("{name}", "<a href", "<b>")):  # pieces with spaces inside
        assert "".join(found(text)).replace(" ", "") == text.replace(" ", "")
    else:
        assert found(text) == text.split()


@pytest.mark.parametrize(
    "prose",
    [
        "100% sure, 5% discount, 50 % de 10%-20%",
        "a < b and c > d, R&D; 5 & 6",
        "{this is no placeholder} {",
        "2024-01-02 10.5% $5.00 1.2.3.4 120V 2.4GHz A4 MP3 v1.2",
        "use %age, l'eau, it's 5' 10\" tall",
        "a@b user @ home",
    ],
)
def test_prose_is_left_alone(prose: str):
    assert found(prose) == []


def test_an_empty_element_is_one_placeholder_as_deepl_sends_them():
    assert found('see <x id="0"></x> and <x id="1"></x>.') == ['<x id="0"></x>', '<x id="1"></x>']


def test_a_url_ends_before_the_punctuation_of_its_sentence():
    assert found("See https://a.org/b. Or (https://a.org/c), or https://a.org/d?") == [
        "https://a.org/b",
        "https://a.org/c",
        "https://a.org/d",
    ]


def test_a_choice_is_one_placeholder_and_its_quoted_braces_are_text():
    text = "{count, plural, one {# item '{'} other {{n} items}} left"
    assert found(text) == [text.removesuffix(" left")]
    assert found("{count, plural, one {never closed") == []


def test_spans_are_where_the_text_is():
    text = "Hello <b>{name}</b>, see https://a.org."
    assert all(text[p.start : p.end] == p.text for p in find_placeholders(text))


def test_pairs_nest_and_what_does_not_stands_alone():
    placeholders = find_placeholders("<b>x <i>y</b> z</i> <br>")
    assert [(p.text, p.role) for p in placeholders] == [
        ("<b>", "open"),
        ("<i>", "mark"),
        ("</b>", "close"),
        ("</i>", "mark"),
        ("<br>", "mark"),
    ]
    assert (placeholders[0].pair, placeholders[2].pair) == (2, 0)


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("{a} and {b}", "{b} et {a}", ""),
        ("{a} and {b}", "{a} et", "{b} missing"),
        ("{a}", "{a} {a}", "{a} too many"),
        ("<b>x</b>", "</b>x<b>", "tags in no legal order"),
        ("<b>x</b> <i>y</i>", "<b>x<i></b>y</i>", "tags in no legal order"),
        ("line<br>end", "ligne<br />fin", ""),
        ("{n, plural, one {a day} other {days}}", "{n, plural, one {un jour} many {j} other {jours}}", ""),
        ("{n, plural, one {a day} other {days}}", "{m, plural, one {un jour} other {jours}}", "{n, plural} missing"),
    ],
)
def test_differences_are_told(source: str, target: str, said: str):
    difference = compare_placeholders(source, target)
    assert str(difference).startswith(said)
    assert bool(difference) == bool(said)
