"""A tag for each word, with its probability; words stay as they are written, known or not."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard.data.corpus import Example
from regard.errors import UserError
from regard.evaluation import render
from regard.evaluation.report import TaggingReport


@pytest.fixture(scope="module")
def tagger(tiny_run, tmp_path_factory: pytest.TempPathFactory) -> regard.Pipeline:
    path: Path = tmp_path_factory.mktemp("runs") / "tags"
    model = {"width": 32, "depth": 1, "heads": 2, "dropout": 0.0}
    training = {"steps": 120, "rate": 5e-3, "warmup_steps": 10, "evaluate_every": 60}
    tiny_run(path, "transformer-tagger", {"corpus": "parts-of-speech", "examples": 1200}, model, training)
    return regard.load(path, threads=1)


def test_every_word_has_a_tag(tagger: regard.Pipeline) -> None:
    assert isinstance(tagger, regard.Tagger)
    result = tagger.translate("Quixote runs to the park .")
    assert [word.word for word in result.tags] == ["Quixote", "runs", "to", "the", "park", "."]
    assert result.text.split() == [word.tag for word in result.tags] and result.text.endswith("DET NOUN PUNCT")
    assert all(0 < word.probability <= 1 for word in result.tags)
    assert result.as_dict()["tags"][1]["word"] == "runs" and tagger.translate("  ").tags == ()


def test_look_shows_the_words(tagger: regard.Pipeline) -> None:
    trace = tagger.translate("Quixote runs .").trace()
    assert trace.attention(trace.attentions[0]).rows == ("Quixote", " runs", " .", "</s>")
    assert len(trace.output_tokens) == 3
    assert tagger.trace("I run .", "PRON VERB PUNCT").output_tokens == ("PRON", " VERB", " PUNCT")
    with pytest.raises(UserError, match="3 words and 2 tags"):
        tagger.trace("I run .", "PRON VERB")


def test_it_beats_the_most_frequent_tag(tagger: regard.Pipeline) -> None:
    examples = [*tagger.examples("test"), Example("Anna xyzzy .", "PROPN VERB SYM")]
    report = tagger.evaluate(examples, baselines=True, errors=2)
    assert isinstance(report, TaggingReport) and report.unknown == 1 and report.new_words is not None
    (baseline,) = report.baselines
    assert baseline.name == "most frequent tag" and 80 < baseline.scores["accuracy"] < 100
    assert report.accuracy.value > 85 and len(report.mistakes) <= 2 and report.mistakes[0].kind == "tags"
    text = render(report)
    assert "confusion: rows are true tags" in text and "most frequent tag" in text and "worst outputs" in text
