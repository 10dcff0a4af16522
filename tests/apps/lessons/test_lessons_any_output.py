"""What counts as ambiguous and as right."""

from __future__ import annotations

from regard.apps.lessons.any_output import ambiguous_words, tagged_right
from regard.data.examples import Example

EXAMPLES = [Example("I run", "P V"), Example("a run", "D N")]


def test_ambiguous_words_and_their_share() -> None:
    assert ambiguous_words(EXAMPLES) == {"run"}
    assert tagged_right(EXAMPLES, ["P V", "D V"], {"run"}) == 50
    assert tagged_right(EXAMPLES, ["V V", "N V"], {"I", "a"}, shift=1) == 0
    assert tagged_right(EXAMPLES, ["X P", "X D"], {"I", "a"}, shift=1) == 100
