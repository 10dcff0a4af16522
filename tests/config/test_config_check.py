"""Every contradiction of settings is found before anything runs, and its line names the keys and the remedy."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from regard.config import check as module
from regard.config import settle
from regard.errors import UserError

LANGUAGE = {"encoder": "none", "decoder": "transformer"}
LSTM = {"encoder": "rnn", "decoder": "rnn"}
CASES: list[tuple[dict, str]] = [
    (
        {"model": LANGUAGE, "tokenizer": {"shared": False}},
        "tokenizer.shared = false, but a language model has one vocabulary",
    ),
    (
        {"model": {"preset": "image-lstm"}, "tokenizer": {"placeholders": True}},
        "tokenizer.placeholders = true, but only translations have placeholders to place; leave it out",
    ),
    (
        {"model": {"preset": "image-lstm"}, "tokenizer": {"source_kind": "word"}},
        "tokenizer.source_kind is given, but the sources are images; leave it out",
    ),
    (
        {"model": {"preset": "lstm-classifier"}, "tokenizer": {"target_kind": "word"}},
        "tokenizer.target_kind is given, but the targets are classes; leave it out",
    ),
    (
        {"model": LANGUAGE, "tokenizer": {"kind": "bpe", "source_kind": "word"}},
        "tokenizer.source_kind = 'word' and target_kind = 'bpe' make two vocabularies, but a language model has one",
    ),
    (
        {"model": LSTM, "tokenizer": {"kind": "bpe", "target_kind": "symbol", "shared": True}},
        "tokenizer.source_kind = 'bpe' and target_kind = 'symbol' make two vocabularies, but tokenizer.shared = true",
    ),
    (
        {"model": {"preset": "transformer-language", "pointer": True}},
        "model.pointer = true copies tokens that an encoder reads, and this model has none; leave it out",
    ),
    (
        {"model": {"preset": "transformer", "pointer": True}, "tokenizer": {"shared": False}},
        "tokenizer.shared = false, but model.pointer copies ids as they are; leave one of them out",
    ),
    (
        {"model": {**LSTM, "pointer": True}, "tokenizer": {"kind": "bpe", "source_kind": "word"}},
        "tokenizer.source_kind = 'word' and target_kind = 'bpe' make two vocabularies, but model.pointer needs one",
    ),
    ({"search": {"sample": True, "short_list": True}}, "search.sample and search.short_list are both given"),
    ({"search": {"n_best": 7}}, "search.n_best = 7 exceeds search.beams = 5; raise search.beams"),
    ({"data": {"source": "a"}}, "data.source is given without data.target; give both"),
    ({"data": {"dev_target": "a"}}, "data.dev_target is given without data.dev_source; give both"),
    ({"data": {"test_source": "a"}}, "data.test_source is given without data.test_target; give both"),
    (
        {"data": {"pairs": "a", "source": "b", "target": "c"}},
        "data.pairs and data.source are both given; keep one",
    ),
    (
        {"data": {"dev_pairs": "a", "dev_source": "b", "dev_target": "c"}},
        "data.dev_pairs and data.dev_source are both given; keep one",
    ),
    ({"data": {"corpus": "dates", "pairs": "a"}}, "data.corpus = 'dates' and files of your own are both given"),
    (
        {"data": {"corpus": "dates", "source": "a", "target": "b"}},
        "data.corpus = 'dates' and files of your own are both given",
    ),
    ({"data": {"lengths": "5-3"}}, 'data.lengths = "5-3" is not a range from 1 upwards'),
    ({"data": {"test_lengths": "0-3"}}, 'data.test_lengths = "0-3" is not a range from 1 upwards'),
    ({"model": {"encoder": "none", "decoder": "none"}}, "model.encoder and model.decoder are both none"),
    ({"model": {"encoder": "none", "decoder": "convolution"}}, "model.encoder = 'none' needs model.decoder = 'rnn'"),
    ({"model": {**LSTM, "width": 9}}, "model.encoder_width = 9 is odd, but two directions share it; make it even"),
    (
        {"model": {**LSTM, "score": "dot", "encoder_width": 8, "decoder_width": 6}},
        "model.score = 'dot' compares states of one width, but model.encoder_width = 8 and model.decoder_width = 6",
    ),
    (
        {"model": {**LSTM, "score": "scaled-dot", "encoder_width": 8}},
        "model.score = 'scaled-dot' compares states of one width",
    ),
    (
        {"model": {**LSTM, "score": "cosine", "decoder_width": 8}},
        "model.score = 'cosine' compares states of one width",
    ),
    (
        {"model": {"encoder": "none", "decoder": "rnn", "context": "every-step"}},
        "model.context = 'every-step' needs an encoder",
    ),
    (
        {"model": {"preset": "transformer", "query": "state-and-token"}},
        "model.query = 'state-and-token' is the query of a recurrent decoder's attention, and this model has none",
    ),
    (
        {"model": {**LSTM, "context": "first-state", "query": "state-and-token"}},
        "model.query = 'state-and-token' is the query of a recurrent decoder's attention, and this model has none",
    ),
    ({"model": {"width": 10}}, "model.heads = 4 does not divide the encoder's width 10"),
    ({"model": {"decoder_width": 10}}, "model.heads = 4 does not divide the decoder's width 10"),
    ({"model": {**LSTM, "score": "multi-head", "width": 10}}, "model.heads = 4 does not divide the decoder's width 10"),
    (
        {"model": {"positions": "rotary", "width": 12}},
        "model.positions = 'rotary' turns pairs, but a head of the encoder is 3 wide; make it even",
    ),
    (
        {"model": {"positions": "rotary", "head_layout": "full", "width": 9}},
        "model.positions = 'rotary' turns pairs, but a head of the encoder is 9 wide; make it even",
    ),
    *(
        ({"model": {"positions": kind, "position_combine": "multiply"}}, "model.position_combine = 'multiply' joins")
        for kind in ("rotary", "alibi", "none")
    ),
    ({"model": {"preset": "convolution", "positions": "rotary"}}, "model.positions = 'rotary' acts inside self-att"),
    ({"model": {"preset": "convolution", "positions": "alibi"}}, "model.positions = 'alibi' acts inside self-att"),
    ({"model": {**LSTM, "encoder_depth": 0}}, "model.encoder_depth = 0 makes word vectors the memory, and model.enc"),
    (
        {"model": {"projections": "none", "head_layout": "full"}},
        "model.projections = 'none' shares one vector out among the heads, and model.head_layout = 'full'",
    ),
    ({"model": {**LSTM, "residuals": False}}, "model.residuals = false is for sublayers, and this model has none"),
    ({"model": {**LSTM, "projections": "none"}}, "model.projections = none is for self-attention, and this model"),
    (
        {"model": {**LSTM, "score": "multi-head", "weighting": "proportional"}},
        "model.weighting = proportional is for a recurrent decoder with one score a position, and this model has none",
    ),
    (
        {"model": {"preset": "transformer", "first_state": "learned"}},
        "model.first_state = learned is for a recurrent network that reads, and this model has none",
    ),
    (
        {"model": {"preset": "lstm-tagger"}, "tokenizer": {"kind": "bpe"}},
        "tokenizer.kind = 'bpe', but a tagger labels words; leave it out or take 'word'",
    ),
    (
        {"model": {"encoder": "grid", "decoder": "none", "pooling": "none"}},
        "model.pooling = 'none' labels words, and model.encoder = 'grid' reads an image",
    ),
    (
        {"training": {"warmup_steps": 5000, "steps": 2000}},
        "training.warmup_steps = 5000 exceeds training.steps = 2000; lower it or train longer",
    ),
    (
        {"model": {"preset": "image-lstm", "image_size": 60}},
        "model.image_size = 60 is no multiple of 8, the side of a cell; make it one",
    ),
    (
        {"model": {"preset": "image-lstm", "width": 30}},
        "model.encoder_width = 30 cannot be halved twice; make it a multiple of 4",
    ),
    (
        {"model": {"preset": "image-lstm"}, "tokenizer": {"shared": True}},
        "tokenizer.shared = true, but an image has no tokens to share; leave it out",
    ),
    (
        {"training": {"schedule": "cosine", "minutes": 3}},
        "training.schedule = 'cosine' needs to know its end: set training.steps or training.epochs",
    ),
    (
        {"training": {"microbatches": 2, "processes": 3}},
        "training.processes = 3 exceeds training.microbatches = 2: each computes one at least; lower it or take more",
    ),
]


def line_of_complaint(tree: dict) -> tuple[str, int]:
    with pytest.raises(UserError) as caught:
        settle(tree)
    return str(caught.value), caught.traceback[-1].lineno + 1


@pytest.mark.parametrize(("tree", "message"), CASES, ids=[message[:60] for _, message in CASES])
def test_a_contradiction_is_one_clear_line(tree: dict, message: str) -> None:
    said, _ = line_of_complaint(tree)
    assert message in said and "\n" not in said


def test_every_contradiction_has_its_case() -> None:
    """Each `raise` in check.py is reached by one of the cases above."""
    source = Path(module.__file__).read_text(encoding="utf-8")
    raises = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Raise)]
    reached = {line_of_complaint(tree)[1] for tree, _ in CASES}
    missing = [node.lineno for node in raises if not any(node.lineno <= r <= node.end_lineno for r in reached)]
    assert len(raises) >= 15 and not missing


@pytest.mark.parametrize(
    "tree",
    [
        {"model": {**LSTM, "score": "bilinear", "encoder_width": 8, "decoder_width": 6}},
        {"model": {**LSTM, "direction": "forward", "width": 9}},
        {"model": {**LSTM, "context": "every-step", "score": "dot", "encoder_width": 8, "decoder_width": 6}},
        {"model": {**LSTM, "query": "state-and-token"}},
        {"data": {"corpus": "dates"}, "model": {"query": "state-and-token"}},  # the corpus names an LSTM later
        {"model": {"width": 10, "head_layout": "full"}},
        {"model": {"encoder": "rnn", "decoder": "none", "width": 10}},
        {"model": {"positions": "learned", "position_combine": "concatenate"}},
        {"training": {"warmup_steps": 2000, "steps": 2000}},
        {"training": {"schedule": "cosine", "minutes": 3, "epochs": 2}},
        {"search": {"n_best": 7, "sample": True}},
        {"data": {"lengths": "3-3"}},
    ],
    ids=str,
)
def test_neighbours_of_contradictions_are_allowed(tree: dict) -> None:
    settle(tree)
