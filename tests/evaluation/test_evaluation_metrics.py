"""Our measures against sacreBLEU's own command and against counting by hand."""

from __future__ import annotations

import math
import random

import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from regard.errors import UserError
from regard.evaluation import metrics

WORDS = ["the", "a", "cat", "dog", "house", "saw", "took", "green,", "slowly", ".", "and", "then", "42"]


def noisy_pairs(count: int = 120, seed: int = 1) -> tuple[list[str], list[str]]:
    draw = random.Random(seed)
    references = [" ".join(draw.choices(WORDS, k=draw.randint(3, 15))) for _ in range(count)]
    return [" ".join(word for word in text.split() if draw.random() > 0.15) for text in references], references


@pytest.mark.parametrize(
    ("ours", "theirs"), [(metrics.bleu, BLEU(force=True)), (metrics.chrf, CHRF()), (metrics.ter, TER())]
)
def test_scores_and_intervals_are_those_of_sacrebleu(ours, theirs):
    hypotheses, references = noisy_pairs()
    expected = theirs.corpus_score(hypotheses, [references], n_bootstrap=200)
    found = ours(hypotheses, references, resamples=200)
    assert found.value == pytest.approx(expected.score, abs=1e-9)
    assert (found.high - found.low) / 2 == pytest.approx(expected._ci, abs=1e-3)
    assert found.low < found.value < found.high
    assert found.signature == theirs.get_signature().format()
    assert "bs:200|seed:12345" in found.signature
    quick = ours(hypotheses, references, resamples=0)
    assert (quick.value, quick.low) == (found.value, None) and "bs" not in quick.signature


def test_bleu_without_tokenisation():
    hypotheses, references = ["a b, c d e"], ["a b , c d e"]
    assert metrics.bleu(hypotheses, references, 0).value == pytest.approx(100)
    plain = metrics.bleu(hypotheses, references, 0, tokenize="none")
    assert plain.value < 100 and "tok:none" in plain.signature


def test_perfect_and_hopeless():
    assert metrics.bleu(["one two three four"], ["one two three four"]).low == pytest.approx(100)
    assert metrics.bleu(["x"], ["one two three four"]).high == 0
    assert metrics.ter(["one two three four"], ["one two three four"]).value == 0


def test_exact_match_is_never_sure():
    assert metrics.exact_match(["a", "b ", "c", "d"], ["a", "b", "c", "d"]).value == 75
    all_right = metrics.exact_match(["a"] * 100, ["a"] * 100)
    assert (
        all_right.value == 100
        and all_right.high == pytest.approx(100)
        and all_right.low == pytest.approx(96.3, abs=0.1)
    )
    half = metrics.share("half", 50, 100)
    assert (half.low, half.high) == (pytest.approx(40.4, abs=0.1), pytest.approx(59.6, abs=0.1))


def test_exact_by_length():
    lengths = [*range(1, 21), 20]
    hypotheses = ["x"] * 10 + ["y"] * 11
    buckets = metrics.exact_by_length(hypotheses, ["x"] * 21, lengths)
    assert [(one.shortest, one.longest) for one in buckets] == [(low, low + 1) for low in range(1, 21, 2)]
    assert [one.sentences for one in buckets] == [2] * 9 + [3]
    assert [one.exact for one in buckets] == [100] * 5 + [0] * 5
    (only,) = metrics.exact_by_length(["x"], ["x"], [7])
    assert (only.shortest, only.longest) == (7, 7)
    few = metrics.exact_by_length(["x"] * 3, ["x"] * 3, [0, 900, 3])
    assert [(one.shortest, one.longest, one.sentences) for one in few] == [(0, 0, 1), (1, 100, 1), (801, 900, 1)]


def test_confusion_perplexity_bits():
    assert metrics.confusion([0, 1, 1, 2], [0, 0, 1, 1], 3) == ((1, 1, 0), (0, 1, 1), (0, 0, 0))
    assert metrics.perplexity(math.log(7)) == pytest.approx(7) and metrics.perplexity(1e4) == math.inf
    assert metrics.bits_per_character(math.log(2) * 3, tokens=10, characters=15) == pytest.approx(2)


def test_bad_rows():
    with pytest.raises(UserError, match="1 outputs but 2 references"):
        metrics.bleu(["a"], ["a", "b"])
    for measure in (metrics.bleu, metrics.exact_match):
        with pytest.raises(UserError, match="nothing to evaluate"):
            measure([], [])


def test_the_nearest_to_a_reference() -> None:
    assert metrics.nearest(["a cat", "the cat saw a dog", "the cat saw the dog"], "the cat saw the dog") == 2
    assert metrics.nearest(["a cat", "the cat saw a dog"], "the cat saw the dog") == 1
    assert metrics.nearest(["x", "y"], "the cat") == 0


def test_edits_are_counted_as_levenshtein_did():
    assert metrics.edit_distance("kitten", "sitting") == 3
    assert metrics.edit_distance("", "abc") == metrics.edit_distance("abc", "") == 3
    assert metrics.edit_distance(["TH", "AO", "T"], ["T", "AO", "T"]) == 1
    rate = metrics.error_rate([["a", "b"], ["c"]], [["a", "x", "y"], ["c"]], "symbol", resamples=50)
    assert rate.name == "symbol errors" and rate.value == 50 and rate.low == 0 and rate.high > 50
    assert metrics.error_rate([""], [""], "letter", resamples=0).value == 0
