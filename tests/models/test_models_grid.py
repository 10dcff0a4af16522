"""Any encoder works with any decoder: the whole grid builds, learns from a batch, and steps as it reads."""

from __future__ import annotations

import itertools

import pytest
import torch

from regard.errors import UserError
from regard.inference.incremental.cached_model import incremental

SCORES = ["additive", "dot", "scaled-dot", "bilinear", "projected", "cosine", "multi-head"]
CELLS = ["rnn", "lstm", "gru"]
CONTEXTS = [{"context": "first-state"}, {"context": "every-step"}]
CONTEXTS += [{"context": "attention", "score": score} for score in SCORES]

ENCODERS = [{"encoder": "rnn", "cell": c, "direction": d} for c in CELLS for d in ("forward", "backward", "both")]
ENCODERS += [{"encoder": "convolution", "positions": p} for p in ("none", "learned", "sinusoidal")]
ENCODERS += [{"encoder": "transformer", "positions": p} for p in ("none", "learned", "sinusoidal", "rotary", "alibi")]
DECODERS = [{"decoder": "rnn", "cell": cell, **context} for cell in CELLS for context in CONTEXTS]
DECODERS += [{"decoder": "convolution"}, {"decoder": "transformer"}]

# What can be switched: each with the encoders and decoders that have the part.
SWITCHES = [
    {"encoder": "transformer", "positions": p, "encoder_depth": 0, "decoder": "rnn", "cell": "lstm", "score": score}
    for p in ("none", "learned")
    for score in ("additive", "dot", "multi-head")
]
SWITCHES += [{"encoder": "transformer", "encoder_depth": 0, "decoder": "transformer"}]
SWITCHES += [
    {"encoder": encoder, "decoder": decoder, **switch}
    for switch in ({"residuals": False}, {"projections": "none"})
    for encoder, decoder in (("transformer", "transformer"), ("transformer", "convolution"), ("rnn", "transformer"))
]
SWITCHES += [
    {"encoder": "transformer", "decoder": "transformer", "residuals": False, "norm": norm} for norm in ("post", "none")
]
SWITCHES += [{"encoder": "transformer", "decoder": "transformer", "projections": "none", "positions": "rotary"}]
SWITCHES += [
    {"encoder": "rnn", "decoder": "rnn", "context": "attention", "cell": cell, "score": score, **switch}
    for cell in CELLS
    for score in ("additive", "bilinear")
    for switch in ({"weighting": "proportional"}, {"first_state": "learned"})
]
GRID = [
    {**encoder, **decoder}
    for encoder, decoder in itertools.product(ENCODERS, DECODERS)
    if encoder.get("cell") in (None, decoder.get("cell", encoder.get("cell")))  # one field names the cell of both sides
]
REFUSED = [f for f in GRID if f.get("positions") in ("rotary", "alibi") and f["decoder"] == "convolution"]


def name(fields: dict[str, str]) -> str:
    return "-".join(map(str, fields.values()))


def test_the_grid_is_whole() -> None:
    assert len(GRID) == 9 * 9 + 8 * 27 + 17 * 2 and len(REFUSED) == 2


@pytest.mark.parametrize("fields", [f for f in GRID if f not in REFUSED], ids=name)
def test_any_encoder_with_any_decoder(tiny, rows, fields: dict[str, str]) -> None:
    same = fields.get("score") in ("dot", "scaled-dot", "cosine") and fields.get("context") == "attention"
    widths = {} if same else {"encoder_width": 12, "decoder_width": 6}
    model = tiny(None, encoder_depth=1, decoder_depth=2, **widths, **fields)
    whole = model(rows.source, rows.mask, rows.target)
    assert whole.shape == (4, 5, 11)
    memory = model.encode(rows.source, rows.mask)
    state = model.start(memory)
    for t in range(5):
        logits, state = model.step(rows.target[:, t : t + 1], memory, state)
        assert torch.allclose(logits[:, 0], whole[:, t], atol=2e-5, rtol=1e-4)
    whole.log_softmax(-1)[..., 1].mean().backward()
    for path, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), path
        assert parameter.grad.ne(0).any(), path


@pytest.mark.parametrize("fields", REFUSED, ids=name)
def test_what_cannot_be_is_refused(tiny, fields: dict[str, str]) -> None:
    with pytest.raises(UserError, match=r"model\.positions = '(rotary|alibi)' acts inside self-attention"):
        tiny(None, **fields)


LANGUAGES = [{"decoder": "rnn", "cell": cell} for cell in CELLS]
LANGUAGES += [
    {"decoder": "transformer", "positions": p, "position_combine": c}
    for p in ("none", "learned", "sinusoidal", "rotary", "alibi")
    for c in ("add", "multiply", "concatenate")
    if c == "add" or p in ("learned", "sinusoidal")
]


@pytest.mark.parametrize("fields", LANGUAGES, ids=name)
def test_language_models_read_then_write(tiny, rows, fields: dict[str, str]) -> None:
    """Padded rows give what one long unpadded row of source and target gives: the target follows without a gap."""
    model = tiny(None, encoder="none", depth=2, **({"context": "first-state"} if "cell" in fields else {}), **fields)
    logits = model(rows.source, rows.mask, rows.target)
    for row, length in enumerate(rows.lengths):
        tokens = torch.cat((rows.source[row, :length], rows.target[row]))[None]
        one = tokens[:, :1]
        whole = model(one, torch.ones_like(one, dtype=torch.bool), tokens[:, 1:])
        assert torch.allclose(logits[row], whole[0, length - 1 :], atol=2e-5, rtol=1e-4)


CLASSIFIERS = list(itertools.product(ENCODERS, ("first", "last", "mean")))


@pytest.mark.parametrize(("fields", "pooling"), CLASSIFIERS, ids=lambda p: p if isinstance(p, str) else name(p))
def test_any_encoder_classifies(tiny, rows, fields: dict[str, str], pooling: str) -> None:
    model = tiny(None, decoder="none", pooling=pooling, depth=2, **fields)
    logits = model(rows.source, rows.mask, rows.target[:, :1])
    assert logits.shape == (4, 1, 11)
    states = model.encode(rows.source, rows.mask).states
    for row, length in enumerate(rows.lengths):
        real = states[row, :length]
        pooled = {"first": real[0], "last": real[-1], "mean": real.mean(0)}[pooling]
        assert torch.allclose(logits[row, 0], model.output(pooled), atol=1e-5)


@pytest.mark.parametrize("fields", SWITCHES, ids=name)
def test_switches(tiny, rows, fields: dict[str, str]) -> None:
    """Steps equal the whole, every parameter learns, and the switch changes what the model computes."""
    sizes = {"depth": 2, "encoder_width": 12} | ({"heads": 2} if fields.get("positions") == "rotary" else {})
    model = tiny(None, **{**sizes, **fields})
    whole = model(rows.source, rows.mask, rows.target)
    memory = model.encode(rows.source, rows.mask)
    state = model.start(memory)
    for t in range(5):
        logits, state = model.step(rows.target[:, t : t + 1], memory, state)
        assert torch.allclose(logits[:, 0], whole[:, t], atol=2e-5, rtol=1e-4)
    whole.log_softmax(-1)[..., 1].mean().backward()
    for path, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), path
        assert parameter.grad.ne(0).any(), path
    if fields.get("encoder_depth") == 0:
        vectors = model.encoder.positions(model.encoder.embedding(rows.source))
        assert torch.equal(memory.states, vectors)
    with torch.no_grad():
        fast = incremental(model)
        encoded = fast.encode(rows.source, rows.mask)
        again, _ = fast.step(rows.target, encoded, fast.start(encoded))
        assert torch.allclose(again, whole, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", ["first", "last", 2])
def test_a_classifier_reads_a_named_position(tiny, rows, kind: str | int) -> None:
    model = tiny(None, decoder="none", pooling=kind, encoder="rnn", cell="gru", direction="forward")
    states, logits = model.encode(rows.source, rows.mask).states, model(rows.source, rows.mask, rows.target[:, :1])
    for row, length in enumerate(rows.lengths):
        place = {"first": 0, "last": length - 1, 2: min(2, length - 1)}[kind]
        assert torch.allclose(logits[row, 0], model.output(states[row, place]), atol=1e-6)


@pytest.mark.parametrize("fields", ENCODERS, ids=name)
def test_any_encoder_tags(tiny, rows, fields: dict[str, str]) -> None:
    model = tiny(None, decoder="none", pooling="none", depth=2, **fields)
    logits, states = model(rows.source, rows.mask, rows.target), model.encode(rows.source, rows.mask).states
    for row, length in enumerate(rows.lengths):
        read = min(length, 5)
        assert torch.allclose(logits[row, :read], model.output(states[row, :read]), atol=1e-5)
