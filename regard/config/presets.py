"""The named architectures of the lectures: each is a line of what it is and the model fields that make it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from regard.config.spelling import near
from regard.errors import UserError


@dataclass(frozen=True)
class Preset:
    about: str
    fields: dict[str, Any] = field(default_factory=dict)


def _recurrent(about: str, **fields: Any) -> Preset:
    return Preset(about, {"encoder": "rnn", "decoder": "rnn", "tied_embeddings": False, **fields})


def _fixed(about: str, cell: str, context: str = "first-state") -> Preset:
    return _recurrent(about, cell=cell, direction="forward", context=context)


def _attentive(about: str, score: str, **fields: Any) -> Preset:
    return _recurrent(about, cell="lstm", direction="both", context="attention", score=score, **fields)


def _captioning(about: str, **fields: Any) -> Preset:
    return _recurrent(about, **{"encoder": "grid", "cell": "lstm", **fields})


PRESETS: dict[str, Preset] = {
    "rnn-language": Preset(
        "one RNN encodes the source, then decodes the target: no separate encoder, O(1) state",
        {"encoder": "none", "decoder": "rnn", "cell": "rnn", "context": "first-state"},
    ),
    "rnn-fixed": _fixed("RNN encoder-decoder: the context vector c is the decoder's first state", "rnn"),
    "rnn-fixed-every-step": _fixed("as rnn-fixed, and c is fed to every decoder step", "rnn", "every-step"),
    "lstm-fixed": _fixed("as rnn-fixed, with LSTM gates (Sutskever 2014)", "lstm"),
    "gru-fixed": _fixed("as rnn-fixed, with GRU gates (Cho 2014)", "gru"),
    "lstm-additive": _attentive("LSTM with Bahdanau attention: the score is an MLP of [h_i, s_(t-1)]", "additive"),
    "lstm-dot": _attentive("LSTM with attention, score h·s", "dot"),
    "lstm-scaled-dot": _attentive("LSTM with attention, score h·s/√m", "scaled-dot"),
    "lstm-bilinear": _attentive("LSTM with attention, score hᵀWs/√m", "bilinear"),
    "lstm-projected": _attentive("LSTM with attention, score (W₁h)ᵀ(W₂s)", "projected"),
    "lstm-cosine": _attentive("LSTM with attention, score the cosine of h and s times a learned scale", "cosine"),
    "lstm-multihead": _attentive(
        "LSTM with queries, keys and values by learned projections: several context vectors a step", "multi-head"
    ),
    "attention-rnn": _recurrent(
        "the in-between model: an encoder of attention only, with no order, and an LSTM decoder that attends to it",
        encoder="transformer",
        positions="none",
        encoder_depth=2,
        cell="lstm",
        score="additive",
    ),
    "convolution": Preset(
        "1-D convolutions with gates, causal in the decoder, and attention between (Gehring 2017)",
        {"encoder": "convolution", "decoder": "convolution", "depth": 4, "positions": "learned"},
    ),
    "transformer": Preset(
        "encoder-decoder of multi-head attention, feed-forward layers, residuals, layer norm, positions (Vaswani 2017)",
        {"encoder": "transformer", "decoder": "transformer", "depth": 3},
    ),
    "transformer-deep-shallow": Preset(
        "as transformer, with most layers in the encoder: as good, and faster to decode (Kasai 2021)",
        {"encoder": "transformer", "decoder": "transformer", "encoder_depth": 6, "decoder_depth": 1},
    ),
    "marian": Preset(
        "as transformer, the way Marian builds it (OPUS-MT): norms after, silu, biases in attention, starts from zeros",
        {
            "encoder": "transformer",
            "decoder": "transformer",
            "depth": 6,
            "heads": 8,
            "positions": "sinusoidal",
            "norm": "post",
            "activation": "silu",
            "attention_bias": True,
            "start": "zero",
        },
    ),
    "transformer-language": Preset(
        "decoder-only Transformer with a causal mask: language modelling, or source, separator, target",
        {"encoder": "none", "decoder": "transformer", "depth": 4},
    ),
    "transformer-classifier": Preset(
        "Transformer encoder; the class is read from its pooled outputs",
        {"encoder": "transformer", "decoder": "none", "depth": 2},
    ),
    "lstm-classifier": Preset(
        "LSTM encoder; the class is read from its pooled outputs",
        {"encoder": "rnn", "decoder": "none", "cell": "lstm", "direction": "both"},
    ),
    "transformer-tagger": Preset(
        "Transformer encoder; a label for each word is read from its own output",
        {"encoder": "transformer", "decoder": "none", "depth": 2, "pooling": "none"},
    ),
    "lstm-tagger": Preset(
        "LSTM that reads in both directions; a label for each word is read from its own output",
        {"encoder": "rnn", "decoder": "none", "cell": "lstm", "direction": "both", "pooling": "none"},
    ),
    "image-classifier": Preset(
        "a convolutional grid over an image; the class of what it shows is read from the mean of its cells",
        {"encoder": "grid", "decoder": "none"},
    ),
    "image-fixed": _captioning(
        "a convolutional grid over an image, its mean the LSTM's first state: one vector, no attention",
        context="first-state",
    ),
    "image-lstm": _captioning(
        "a convolutional grid over an image and an LSTM that attends to a part of it for each word (Xu 2015)",
        context="attention",
        score="additive",
    ),
    "image-grid-transformer": Preset(
        "a convolutional grid over an image, the caption by a Transformer decoder that attends to it",
        {"encoder": "grid", "decoder": "transformer", "encoder_depth": 2, "decoder_depth": 3},
    ),
    "image-transformer": Preset(
        "patches of an image, by convolutions (Xiao 2021), in a Transformer encoder (Dosovitskiy 2021) and decoder",
        {"encoder": "patches", "decoder": "transformer", "depth": 3, "stem": "convolution"},
    ),
}


def preset_fields(name: str) -> dict[str, Any]:
    if name not in PRESETS:
        raise UserError(f"model.preset = {name!r} is unknown{near(name, PRESETS)}; presets: {', '.join(PRESETS)}")
    return PRESETS[name].fields
