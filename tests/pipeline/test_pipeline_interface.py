"""Streams, traces, silenced heads and evaluations, as of every pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import regard
from regard.data.tokenizer import BOS, EOS
from regard.evaluation import ClassifierReport, LanguageReport, TranslationReport


def test_order_and_empty_lines_are_kept(translator: regard.Pipeline) -> None:
    sources = [example.source for example in translator.run.examples("test")]
    texts = [sources[0], "", sources[1], "   ", *sources[2:]]
    results = translator.translate(texts)
    assert len(results) == len(texts)
    assert results[1].text == results[3].text == ""
    alone = [translator.translate(text).text for text in texts]
    assert [result.text for result in results] == alone


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


def test_evaluations(translator: regard.Pipeline, language_run: Path, classifier_run: Path) -> None:
    kinds = (TranslationReport, LanguageReport, ClassifierReport)
    for model, kind in zip((translator, regard.load(language_run), regard.load(classifier_run)), kinds, strict=True):
        report = model.evaluate(model.run.examples("test"), model.search)
        assert isinstance(report, kind)
    report = translator.evaluate(translator.run.examples("test"), translator.search)
    assert isinstance(report, TranslationReport)
    assert report.exact.value >= 90


def test_the_view_of_an_output(translator: regard.Pipeline) -> None:
    record = translator.view("abc", search=translator.search_with(beams=3, n_best=2))
    assert record.text == "abc" == record.outputs[0].text and len(record.outputs) == 2
    assert record.score == record.outputs[0].score and record.task == "translation"
    assert [position.alternatives[0].id for position in record.predictions] == [one.id for one in record.predictions]
    result = translator.translate("abc", beams=1)
    assert sum(position.log_prob for position in record.predictions) == pytest.approx(result.log_prob, abs=1e-3)
    with pytest.raises(regard.UserError, match="not both"):
        translator.view("a", target="a", prefix=[5])
    with pytest.raises(regard.UserError, match="no attention is called"):
        translator.view("a", first="nope")


def test_another_word_is_chosen_and_the_rest_rewritten(translator: regard.Pipeline) -> None:
    ids = translator.run.target_codec.encode("d")
    for search in (translator.search_with(beams=1), translator.search_with(beams=3)):
        record = translator.view("abc", prefix=ids, search=search)
        assert record.text.startswith("d") and record.predictions[0].id == ids[0]
        assert record.predictions[0].log_prob < -1  # the model would have said a
    assert translator.view("abc", prefix=[*ids, EOS]).text == "d"
    assert translator.view("abc", target="d").text == "d"
    for prefix in ([BOS], [EOS, 5], [10**6]):
        with pytest.raises(regard.UserError, match="is no id of a token"):
            translator.view("abc", prefix=prefix)


def test_what_if(translator: regard.Pipeline) -> None:
    """Without the one cross-attention nothing of the source reaches the output; a hidden word is not copied."""
    cross = "decoder.layers.0.cross_attention"
    blind = translator.changed(silence=[cross])
    assert blind.translate("abc").text == blind.translate("dcb").text
    flat = translator.changed(uniform=[f"{cross}.0"]).view("abc")
    (attention,) = (each for each in flat.maps if each.name == cross)
    assert attention.weights[0][0] == [0.25] * 4 != attention.weights[1][0]
    hidden = translator.changed(hide=[1])
    record = hidden.view("ab dc")
    assert hidden.translate("ab dc").text == record.text == translator.translate("ab ").text
    assert [word.hidden for word in record.source_words] == [False, True] and record.changes.hide == (1,)
    assert hidden.trace("ab dc", "a").source_tokens == translator.trace("ab ", "a").source_tokens
    assert translator.view("abc").text == "abc"  # the pipeline itself is as it was


def test_views_of_every_kind_of_model(language_run: Path, classifier_run: Path) -> None:
    language = regard.load(language_run)
    record = language.view("The ", search=language.search_with(max_tokens=3))
    assert record.given == len(language.run.target_codec.encode("The ")) and record.maps == ()
    assert len(record.predictions) == len(record.output_tokens) == record.given + 3
    chosen = record.predictions[record.given].alternatives[1]
    onward = language.view("The ", prefix=[chosen.id], search=language.search_with(max_tokens=2))
    assert onward.output_tokens[onward.given] == chosen.token
    classifier = regard.load(classifier_run)
    seen = classifier.view("a house")
    assert seen.predictions[0].alternatives[0].token == seen.text and len(seen.predictions) == 1
    with pytest.raises(regard.UserError, match="this run gives a class"):
        classifier.view("a house", prefix=[3])
