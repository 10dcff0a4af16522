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
