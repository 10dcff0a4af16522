"""A run as the engine in a browser reads it: a record of facts, and the weights in one buffer."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from regard.analysis.ablation import attention_heads
from regard.checkpoint import Run
from regard.config.plan import ModelPlan
from regard.config.values import CELL, IMAGE_ENCODERS
from regard.data.image_codec import ImageCodec
from regard.data.tokenizer import Tokenizer
from regard.inference.ctranslate2.conversion import Precision

TASKS = ("translation", "continuation", "captioning")
KNOWN: dict[str, tuple[str, ...]] = {  # what the JavaScript has, by field of the model
    "positions": ("none", "learned", "sinusoidal", "rotary", "alibi"),
    "activation": ("relu", "gelu", "tanh"),
    "norm": ("pre", "post", "none"),
    "cell": ("rnn", "lstm", "gru"),
    "score": ("additive", "dot", "scaled-dot", "bilinear", "projected", "cosine", "multi-head"),
    "encoder": ("none", "rnn", "transformer", "convolution", *IMAGE_ENCODERS),
    "decoder": ("rnn", "transformer", "convolution"),
}
KINDS = ("character", "decomposed", "symbol", "word", "bpe", "unigram")  # of tokenizers


@dataclass(frozen=True)
class BrowserModel:
    """`facts` are JSON. `weights`: each parameter at its `start`; of int8, its rows' scales stand before it."""

    facts: dict[str, Any]
    weights: bytes


def unsuited(run: Run) -> str | None:
    """Why the page cannot run this model; None: it can."""
    if run.task not in TASKS:
        return f"the page translates, continues texts and describes images, and this run is for {run.task}"
    for field, known in KNOWN.items():
        value = getattr(run.plan.model, field)
        if value not in known:
            return f"the page knows model.{field} {', '.join(known)}, and this run has {value}"
    for codec in (run.source_codec, run.target_codec):
        if isinstance(codec, Tokenizer) and codec.kind not in KINDS:
            return f"the page knows tokenizers of the kinds {', '.join(KINDS)}, and this run has {codec.kind}"
    return None


def browser_model(run: Run, precision: Precision) -> BrowserModel:
    """int8: matrices, a scale for each row. Vectors stay in float32."""
    index, weights = packed_weights(run.model, precision)
    source, target = run.source_codec, run.target_codec
    assert isinstance(target, Tokenizer), "it generates text"
    shared = source is target or run.task == "continuation"
    search = run.plan.search
    facts = {
        "name": run.path.name,
        "task": run.task,
        "model": model_facts(run.plan.model),
        "max_source": run.model.max_source,
        "max_target": run.model.max_target,
        "max_total": run.model.max_total,
        "search": {key: getattr(search, key) for key in ("beams", "n_best", "length_penalty", "max_tokens")},
        "source": vocabulary_facts(source) if isinstance(source, Tokenizer) and not shared else None,
        "target": vocabulary_facts(target),
        "words": list(source.words) if isinstance(source, ImageCodec) else [],
        "attentions": list(attention_heads(run.model)),
        "precision": precision,
        "index": index,
    }
    return BrowserModel(facts, weights)


def model_facts(plan: ModelPlan) -> dict[str, Any]:
    """The [model] section of the recipe, with the depths of both sides and the side of an image's cell."""
    encoder_depth, decoder_depth = plan.depths
    tree = plan.model_dump(exclude_none=True)
    return {**tree, "encoder_depth": encoder_depth, "decoder_depth": decoder_depth, "cell_side": CELL}


def packed_weights(model: nn.Module, precision: Precision) -> tuple[dict[str, Any], bytes]:
    """Where each parameter begins, and all of them; a tied one is written once."""
    index: dict[str, Any] = {}
    buffer = bytearray()
    starts: dict[int, dict[str, Any]] = {}  # by the place in memory
    for name, tensor in model.state_dict(keep_vars=True).items():
        known = starts.get(tensor.data_ptr())
        if known is None:
            values = tensor.detach().to("cpu").float().numpy()
            rounded = precision == "int8" and values.ndim > 1
            known = {"shape": list(values.shape), "type": "int8" if rounded else "float32", "start": len(buffer)}
            buffer += rounded_rows(values) if rounded else values.astype("<f4").tobytes()
            buffer += bytes(-len(buffer) % 4)
            starts[tensor.data_ptr()] = known
        index[name] = known
    return index, bytes(buffer)


def rounded_rows(values: np.ndarray) -> bytes:
    """w ≈ s·n with n in -127 … 127 and a scale s a row: the scales, then the integers."""
    rows = values.reshape(values.shape[0], math.prod(values.shape[1:]))
    scales = np.abs(rows).max(1) / np.float32(127)
    scales[scales == 0] = 1
    integers = np.rint(rows / scales[:, None]).astype(np.int8)
    return scales.astype("<f4").tobytes() + integers.tobytes()


def vocabulary_facts(tokenizer: Tokenizer) -> dict[str, Any]:
    """The pieces in the order of their ids, with the merges of bpe or the scores of unigram."""
    model = json.loads(tokenizer.engine.to_str())["model"]
    pieces = [tokenizer.engine.id_to_token(i) for i in range(tokenizer.engine.get_vocab_size())]
    symbols = tokenizer.tokens(range(len(pieces), tokenizer.size))
    facts: dict[str, Any] = {"kind": tokenizer.kind, "pieces": pieces, "symbols": symbols}
    if tokenizer.kind == "bpe":
        facts["merges"] = model["merges"]
    if tokenizer.kind == "unigram":
        facts["scores"] = [score for _, score in model["vocab"]]
    return facts
