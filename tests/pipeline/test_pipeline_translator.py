"""Translations, alignments and beam trees of a trained translator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import regard
from regard.checkpoint import load_run
from regard.data.corpus import Example
from regard.evaluation import TranslationReport


def test_a_translator_translates(translator: regard.Pipeline) -> None:
    example = translator.run.examples("test")[0]
    result = translator.translate(example.source, beams=3)
    assert result.text == example.target
    assert "".join(result.tokens) == result.text
    assert result.score == pytest.approx(result.log_prob / (len(result.tokens) + 1))
    assert result.finished and result.problem is None


def test_n_best_are_different_and_ordered(translator: regard.Pipeline) -> None:
    source = translator.run.examples("test")[0].source
    result = translator.translate(source, beams=4, n_best=4)
    texts = [other.text for other in result.alternatives]
    scores = [other.score for other in result.alternatives]
    assert len(set(texts)) == 4 and texts[0] == result.text
    assert scores == sorted(scores, reverse=True)


def test_sampling_is_seeded(translator: regard.Pipeline) -> None:
    source = translator.run.examples("test")[0].source
    draws = [translator.translate(source, sample=True, temperature=3.0, seed=seed).text for seed in (1, 1, 2, 3, 4)]
    assert draws[0] == draws[1]
    assert len(set(draws)) > 1


def test_an_alignment_links_words(translator: regard.Pipeline) -> None:
    result = translator.translate("a", beams=1)
    assert result.alignment() == {(0, 0)} == result.alignment("decoder.layers.0.cross_attention")
    assert translator.translate("").alignment() == frozenset()
    with pytest.raises(regard.UserError, match=r"no attention to the source.*'encoder\.layers\.0"):
        result.alignment("encoder.layers.0.self_attention")


def test_a_beam_tree_needs_a_beam_search(translator: regard.Pipeline) -> None:
    assert isinstance(translator, regard.Translator)
    assert translator.beam_tree("a b").steps
    for fields, why in (
        ({"sample": True}, "sampling has none"),
        ({"short_list": True}, "short_list=False"),
        ({"beams": 1}, "two beams or more"),
    ):
        with pytest.raises(regard.UserError, match=why):
            translator.beam_tree("a b", translator.search_with(**fields))
    with pytest.raises(regard.UserError, match="empty"):
        translator.beam_tree(" ")


def test_a_source_beyond_the_positions_is_reported(tmp_path: Path, tiny_run: Callable[..., Path]) -> None:
    model = {"positions": "learned", "max_positions": 12, "depth": 1, "heads": 2}
    run = tiny_run(tmp_path / "learned", "transformer", {"corpus": "copy", "lengths": "1-4"}, model)
    results = regard.load(run).translate(["a b", "a b c d e f g h i j k l m n o p"])
    assert results[0].problem is None
    assert results[1].text == "" and "12" in (results[1].problem or "")
    model = regard.load(run)
    long = "a b c d e f g h i j k l m n o p"
    for source, target in ((long, "a"), ("a", long)):
        with pytest.raises(regard.UserError, match="12"):
            model.trace(source, target)
    report = model.evaluate([Example("a", long)], model.search)
    assert isinstance(report, TranslationReport) and report.forced is None


def test_short_lists_come_from_the_training_pairs(
    translator: regard.Pipeline, tmp_path: Path, tiny_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(regard.UserError, match=r"lexicon\.safetensors"):
        translator.translate("a b", short_list=True)
    monkeypatch.setattr("regard.experiment.setup.LARGE", 5)
    monkeypatch.setattr("regard.data.lexicon.FREQUENT", 1)
    monkeypatch.setattr("regard.data.lexicon.LIKELY", 1)
    run = tiny_run(tmp_path / "listed", "transformer", {"corpus": "copy", "lengths": "1-4"}, {"depth": 1, "heads": 2})
    model = regard.load(run)
    lexicon = load_run(run).lexicon
    assert lexicon is not None and lexicon.likely.shape[1] == 1
    allowed = {*"ab", " "}  # of copies, a letter's likeliest is itself
    assert set(model.translate("a b a", short_list=True, max_tokens=20).text) <= allowed
    assert not set(model.translate("a b a", max_tokens=20).text) <= allowed
