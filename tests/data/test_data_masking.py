"""Masking: symbols for placeholders, the same on both sides of a pair, and back."""

from regard.data.examples import Example
from regard.data.masking import FIRST, MaskedText, PlaceholderSymbols, branches, count_symbols, mask_pairs

SYMBOLS = PlaceholderSymbols(values=3, marks=2, pairs=2)


def shown(text: str) -> str:
    for character, name in zip(SYMBOLS.characters, SYMBOLS.names, strict=True):
        text = text.replace(character, name)
    return text


def masked(source: str, target: str) -> tuple[str, str] | None:
    pair = SYMBOLS.mask_pair(Example(source, target))
    return None if pair is None else (shown(pair.source), shown(pair.target))


def test_each_placeholder_has_a_symbol_and_comes_back():
    text = "Hello <b>{name}</b>,<br/>see <i>%s</i> &amp; {b}."
    made = SYMBOLS.mask(text)
    assert shown(made.text) == "Hello ⟨g1⟩⟨1⟩⟨/g1⟩,⟨m1⟩see ⟨g2⟩⟨2⟩⟨/g2⟩ ⟨m2⟩ ⟨3⟩."
    assert made.restore(made.text) == text


def test_what_has_no_symbol_is_left_as_it_was():
    made = SYMBOLS.mask("{a} {b} {c} {d} <b><i><u>x</u></i></b>")
    assert shown(made.text) == "⟨1⟩ ⟨2⟩ ⟨3⟩ {d} ⟨g1⟩⟨g2⟩<u>x</u>⟨/g2⟩⟨/g1⟩"


def test_a_symbol_that_the_source_lacks_becomes_nothing():
    assert (
        MaskedText("", {SYMBOLS.characters[0]: "%s"}).restore(f"a {SYMBOLS.characters[0]}{SYMBOLS.characters[1]}")
        == "a %s"
    )


def test_the_target_has_the_numbers_of_the_source():
    assert masked("{a} of {b}", "{b} : {a}") == ("⟨1⟩ of ⟨2⟩", "⟨2⟩ : ⟨1⟩")
    assert masked("<b>x</b> <i>y</i>", "<i>y</i> <b>x</b>") == ("⟨g1⟩x⟨/g1⟩ ⟨g2⟩y⟨/g2⟩", "⟨g2⟩y⟨/g2⟩ ⟨g1⟩x⟨/g1⟩")
    assert masked("%s %s", "%s %s") == ("⟨1⟩ ⟨2⟩", "⟨1⟩ ⟨2⟩")
    assert masked("<b>x</b><b>y</b>", "<b>x<b>y</b></b>") == ("⟨g1⟩x⟨/g1⟩⟨g2⟩y⟨/g2⟩", "⟨g1⟩x⟨g2⟩y⟨/g2⟩⟨/g1⟩")


def test_pairs_that_differ_are_counted_and_stay_as_they_were():
    examples = [Example("{a}", "{b}"), Example("plain", "simple"), Example("<b>x</b>", "</b>x<b>")]
    made = mask_pairs(examples, SYMBOLS)
    assert (made.examples, made.indices, made.differing) == (examples, [0, 1, 2], {0, 2})


def test_a_message_with_choices_is_a_pair_for_each_branch():
    pair = Example("{n, plural, one {# day} other {# days}} left", "{n, plural, one {# jour} many {#} other {# jours}}")
    assert branches(pair) == [Example("{#} day left", "{#} jour"), Example("{#} days left", "{#} jours")]
    made = mask_pairs([pair], SYMBOLS)
    assert [shown(example.target) for example in made.examples] == ["⟨1⟩ jour", "⟨1⟩ jours"]
    assert made.indices == [0, 0] and not made.differing


def test_a_text_that_has_such_a_character_itself_gets_it_back():
    text = f"a {chr(FIRST['value'] + 7)} {{b}}"
    made = SYMBOLS.mask(text)
    assert shown(made.text) == "a ⟨1⟩ ⟨2⟩" and made.restore(made.text) == text


def test_as_many_symbols_as_enough_pairs_hold():
    examples = [Example("{a} <b>{b}</b>", "")] * 10 + [Example("{a} {b} {c}<br/>", "")] * 9
    assert count_symbols(examples) == PlaceholderSymbols(values=2, marks=0, pairs=1)
