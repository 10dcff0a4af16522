"""Records are JSON and lose nothing but digits."""

from __future__ import annotations

import json

import torch

from regard.analysis.maps import AttentionMap
from regard.analysis.trace import Trace
from regard.analysis.view import AlternativeToken, ChangeRecord, Prediction, TraceRecord, plain

OUTPUT = ("le", " chat", "</s>")


def test_a_trace_as_json() -> None:
    tensors = {
        "encoder.layers.0.self_attention.weights": torch.eye(4)[None, None],
        "decoder.attention.weights": torch.full((1, 2, 3, 4), 0.123456),
    }
    found = (Prediction(7, -0.5, 1.5, (AlternativeToken(7, "le", -0.5),)),) * 3
    trace = Trace(tensors, ("the", " <ca", "t>", "</s>"), ("<s>", "le", " chat"), OUTPUT, found)
    record = trace.record().as_dict()
    assert json.loads(json.dumps(record)) == record
    encoder, decoder, rollout = record["maps"]
    assert decoder["weights"] == [[[0.1235] * 4] * 3] * 2 and decoder["columns"] == ["the", " <ca", "t>", "</s>"]
    assert (encoder["row_side"], encoder["column_side"]) == ("source", "source")
    assert (decoder["row_side"], decoder["column_side"]) == ("output", "source") and rollout["kind"] == "rollout"
    assert record["first"] == "decoder.attention" and record["kind"] == "trace"
    assert record["predictions"][0] == {
        "id": 7,
        "log_prob": -0.5,
        "entropy": 1.5,
        "alternatives": [{"id": 7, "token": "le", "log_prob": -0.5}],
    }
    words = [(word["text"], word["tokens"]) for word in record["source_words"]]
    assert words == [("the", [0]), ("<cat>", [1, 2])]  # the end of the sentence is no word


def test_decoder_only_models_attend_to_both() -> None:
    tensors = {"decoder.layers.0.self_attention.weights": torch.eye(4)[None, None]}
    record = Trace(tensors, ("a", "</s>"), ("<s>", "b"), ("b", "</s>")).record()
    assert (record.maps[0].row_side, record.maps[0].columns) == ("both", ("a", "</s>", "<s>", "b"))


def test_a_model_without_attention_has_its_sentences() -> None:
    record = Trace({}, ("a", "</s>"), ("<s>",), ("</s>",)).record()
    assert record.maps == () and record.first is None


def test_plain_values() -> None:
    assert plain(ChangeRecord(hide=(2,))) == {"silence": [], "uniform": [], "hide": [2]}
    alone = AttentionMap("x", torch.ones(1, 1, 2), ("a",), ("b", "c"), ("input", "input"), "field").record()
    record = TraceRecord("t", ("b", "c"), (), (), ("a",), (alone,), "x")
    assert record.as_dict()["maps"][0]["kind"] == "field"
