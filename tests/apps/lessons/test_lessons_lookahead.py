"""The sentences with a word of two meanings: the clue decides, and stands where `later` says."""

from __future__ import annotations

from collections import Counter

from regard.apps.lessons.lookahead import EXAMPLE, MEANINGS, SENSES, sentences


def test_every_sentence_has_one_word_of_two_meanings_and_its_clue() -> None:
    known = sentences()
    assert (
        known[EXAMPLE].later and known[EXAMPLE].example.target == "les rives étaient calmes autrefois avec les rivières"
    )
    for source, sentence in known.items():
        word, meaning = SENSES[sentence.sense]
        words = source.split()
        (clue,) = [index for index, other in enumerate(words) if other in MEANINGS[word][meaning]]
        assert [other for other in words if other in MEANINGS] == [word] and len(words) == 8
        assert (clue > words.index(word)) == sentence.later
        assert meaning in sentence.example.target.split()


def test_without_the_clue_both_meanings_are_as_likely() -> None:
    """The words before say nothing where the clue comes after the word."""
    counts = Counter()
    for source, sentence in sentences().items():
        if sentence.later:
            word = SENSES[sentence.sense][0]
            counts[source.split(word)[0] + word, sentence.sense] += 1
    assert len(set(counts.values())) == 1 and len(counts) == len(SENSES)


def test_no_word_is_a_clue_to_two_meanings() -> None:
    clues = [clue for meanings in MEANINGS.values() for words in meanings.values() for clue in words]
    assert len(set(clues)) == len(clues) and not set(clues) & set(MEANINGS)
