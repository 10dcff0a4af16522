"""regard.load gives the right kind of pipeline, and each does its job."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import regard
from regard.checkpoint import load_run
from regard.config import SearchSettings
from regard.data.corpus import Example
from regard.data.tokenizer import BOS, EOS
from regard.evaluation import ClassifierReport, LanguageReport, TranslationReport


@pytest.fixture(scope="module")
def translator(translator_run: Path) -> regard.Pipeline:
    return regard.load(translator_run, threads=1)


def test_kinds(translator_run: Path, language_run: Path, classifier_run: Path) -> None:
    assert isinstance(regard.load(translator_run), regard.Translator)
    assert isinstance(regard.load(language_run), regard.TextGenerator)
    assert isinstance(regard.load(classifier_run), regard.Classifier)


def test_a_translator_translates(translator: regard.Pipeline) -> None:
    example = translator.run.examples("test")[0]
    result = translator.translate(example.source, beams=3)
    assert result.text == example.target
    assert "".join(result.tokens) == result.text
    assert result.score == pytest.approx(result.log_prob / (len(result.tokens) + 1))
    assert result.finished and result.problem is None


def test_order_and_empty_lines_are_kept(translator: regard.Pipeline) -> None:
    sources = [example.source for example in translator.run.examples("test")]
    texts = [sources[0], "", sources[1], "   ", *sources[2:]]
    results = translator.translate(texts)
    assert len(results) == len(texts)
    assert results[1].text == results[3].text == ""
    alone = [translator.translate(text).text for text in texts]
    assert [result.text for result in results] == alone


def test_n_best_are_different_and_ordered(translator: regard.Pipeline) -> None:
    source = translator.run.examples("test")[0].source
    result = translator.translate(source, beams=4, n_best=4)
    texts = [other.text for other in result.alternatives]
    scores = [other.score for other in result.alternatives]
    assert len(set(texts)) == 4 and texts[0] == result.text
    assert scores == sorted(scores, reverse=True)


def test_n_best_outputs_raise_the_beams(translator: regard.Pipeline, classifier_run: Path) -> None:
    assert translator.search_with(n_best=10).beams == 10
    assert translator.search_with(n_best=3).beams == translator.search.beams == 5
    assert (
        translator.search_with(SearchSettings(n_best=8)).n_best
        == translator.search_with(SearchSettings(n_best=8)).beams
    )
    assert translator.search_with(n_best=10, sample=True).beams == 5  # draws need no beams
    assert len(translator.translate("a b", n_best=7).alternatives) == 7
    with pytest.raises(regard.UserError, match=r"n_best = 4 exceeds search.beams = 2"):
        translator.search_with(beams=2, n_best=4)


def test_a_stream_of_texts_is_translated_in_chunks(
    translator: regard.Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.pipeline.interface.CHUNK", 2)
    read: list[str] = []

    def texts() -> Iterator[str]:
        for text in ("a", "", "b a", "c", "d"):
            read.append(text)
            yield text

    stream = translator.translate_stream(texts())
    assert next(stream) == translator.translate("a") and read == ["a", ""]  # no more is read than a chunk
    assert [result.text for result in stream] == [translator.translate(text).text for text in ("", "b a", "c", "d")]


def test_sampling_is_seeded(translator: regard.Pipeline) -> None:
    source = translator.run.examples("test")[0].source
    draws = [translator.translate(source, sample=True, temperature=3.0, seed=seed).text for seed in (1, 1, 2, 3, 4)]
    assert draws[0] == draws[1]
    assert len(set(draws)) > 1


def test_unknown_search_setting_is_refused(translator: regard.Pipeline) -> None:
    with pytest.raises(regard.UserError, match=r"beamz.*did you mean 'beams'"):
        translator.translate("a", beamz=3)


def test_attention_is_what_decoding_used(translator: regard.Pipeline) -> None:
    """Step by step with the cache, watched, equals the one teacher-forced pass of the trace."""
    from regard.nn.taps import watching

    source = translator.run.examples("test")[0].source
    result = translator.translate(source, beams=1)
    found = result.attention("decoder.layers.0.cross_attention")
    ids = [*translator.source_codec.encode(source), EOS]
    written = translator.run.target_codec.encode(result.text)
    model = translator.model
    with torch.inference_mode(), watching(model) as watch:
        tensor = torch.tensor([ids])
        memory = model.encode(tensor, torch.ones_like(tensor, dtype=torch.bool))
        state = model.start(memory)
        for token in [BOS, *written]:
            _, state = model.step(torch.tensor([[token]]), memory, state)
    stepped = watch.tensors()["decoder.layers.0.cross_attention.weights"][0]
    torch.testing.assert_close(found.weights, stepped, rtol=0, atol=1e-5)
    assert found.weights.shape == (2, len(written) + 1, len(ids))
    assert found.rows[-1] == "</s>" and found.columns[-1] == "</s>"
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(2, len(written) + 1))


def test_without_a_head_results_and_traces_change(translator: regard.Pipeline) -> None:
    source = translator.run.examples("test")[0].source
    attention = "decoder.layers.0.cross_attention"
    ablated = translator.without(attention)
    whole, without = (model.trace(source, source) for model in (translator, ablated))
    assert whole.tensors[f"{attention}.weights"].sum() > 1 and without.tensors[f"{attention}.weights"].sum() == 0
    assert ablated.translate_all([source]) != translator.translate_all([source])
    result = ablated.translate(source, beams=1)
    assert result.attention(attention).weights.sum() == 0  # silent in the trace of its outputs, too
    examples = translator.run.examples("dev")
    forced, ablated_forced = (model.teacher_forced(examples) for model in (translator, ablated))
    assert forced is not None and ablated_forced is not None and forced.loss < ablated_forced.loss
    assert ablated.trace_all(examples[:2])[1].tensors[f"{attention}.weights"].sum() == 0
    head = translator.without(f"{attention}.1").trace(source, source).tensors[f"{attention}.weights"]
    assert head[:, 1].sum() == 0 and head[:, 0].sum() > 1
    assert translator.translate(source).text == source  # the pipeline itself is as it was
    with pytest.raises(regard.UserError, match="heads 0 to 1"):
        translator.without(f"{attention}.2")


def test_an_alignment_links_words(translator: regard.Pipeline) -> None:
    result = translator.translate("a", beams=1)
    assert result.alignment() == {(0, 0)} == result.alignment("decoder.layers.0.cross_attention")
    assert translator.translate("").alignment() == frozenset()
    with pytest.raises(regard.UserError, match=r"no attention to the source.*'encoder\.layers\.0"):
        result.alignment("encoder.layers.0.self_attention")


def test_examples_come_from_the_run_or_from_files(
    translator: regard.Pipeline, language_run: Path, tmp_path: Path
) -> None:
    assert translator.examples() == translator.run.examples("test")
    assert translator.examples("dev") == translator.run.examples("dev")
    for name, text in (("source", "a\n\n"), ("reference", "b\nc\n"), ("empty", "")):
        (tmp_path / name).write_text(text)
    source, reference, empty = (tmp_path / name for name in ("source", "reference", "empty"))
    assert translator.examples(source=source, reference=reference) == [Example("a", "b"), Example("", "c")]
    assert regard.load(language_run).examples(reference=reference) == [Example("", "b"), Example("", "c")]
    for given, why in (
        ({"source": source}, "needs --reference"),
        ({"reference": reference}, "needs --source"),
        ({"source": source, "reference": empty}, "must be parallel"),
        ({"source": empty, "reference": empty}, "is empty"),
    ):
        with pytest.raises(regard.UserError, match=why):
            translator.examples(**given)


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


def test_a_text_generator_continues_a_text(language_run: Path) -> None:
    model = regard.load(language_run)
    result = model.translate("The ", max_tokens=12)
    assert len(result.tokens) <= 12 and result.text
    assert result.text == model.translate("The ", max_tokens=12).text


def test_a_classifier_names_and_weighs(classifier_run: Path) -> None:
    model = regard.load(classifier_run)
    result = model.translate("Vereinigtes Königreich")
    assert result.text == max(result.probabilities, key=lambda name: result.probabilities[name])
    assert sum(result.probabilities.values()) == pytest.approx(1, abs=1e-5)


def test_evaluations(translator: regard.Pipeline, language_run: Path, classifier_run: Path) -> None:
    kinds = (TranslationReport, LanguageReport, ClassifierReport)
    for model, kind in zip((translator, regard.load(language_run), regard.load(classifier_run)), kinds, strict=True):
        report = model.evaluate(model.run.examples("test"), model.search)
        assert isinstance(report, kind)
    report = translator.evaluate(translator.run.examples("test"), translator.search)
    assert isinstance(report, TranslationReport)
    assert report.exact.value >= 90


def test_a_run_is_portable(translator_run: Path, translator: regard.Pipeline, tmp_path: Path) -> None:
    moved = shutil.copytree(translator_run, tmp_path / "elsewhere")
    source = translator.run.examples("test")[3].source
    assert regard.load(moved).translate(source) == translator.translate(source)


def test_a_run_holds_no_pickle(translator_run: Path) -> None:
    suffixes = {path.suffix for path in translator_run.rglob("*") if path.is_file()}
    assert suffixes <= {".toml", ".json", ".jsonl", ".safetensors", ".svg"}


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


def test_a_class_that_was_never_shown_counts_as_wrong(classifier_run: Path) -> None:
    model = regard.load(classifier_run)
    label = model.translate("Königreich").text
    report = model.evaluate([Example("Königreich", label), Example("Königreich", "Klingon")], model.search)
    assert isinstance(report, ClassifierReport)
    assert report.accuracy.value == 50 and report.unknown == 1


def test_weights_are_those_of_the_run(translator_run: Path) -> None:
    once, again = load_run(translator_run).model, load_run(translator_run).model
    for (name, one), (_, other) in zip(once.named_parameters(), again.named_parameters(), strict=True):
        assert torch.equal(one, other), name


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
