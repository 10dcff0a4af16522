"""A model as boxes, drawn from its own modules: what data passes through, side by side for encoder and decoder."""

from __future__ import annotations

import re

from torch import nn

from regard.models.recurrent import DirectedLayer, RecurrentDecoder, RecurrentReader
from regard.models.seq2seq import Model
from regard.models.transformer import DecoderLayer
from regard.models.vision import Canvas
from regard.nn.attention import Attention, MultiHeadAttention, ScoredAttention
from regard.nn.layers import Layers
from regard.nn.positions import PositionalEmbedding
from regard.nn.recurrent import Cell
from regard.plotting import flow

PARTS = {
    "self_attention": "self-attention",
    "cross_attention": "attention to the memory",
    "feed_forward": "feed-forward",
}


def diagram(model: Model, title: str) -> str:
    """An SVG."""
    return flow(title, boxes(model))


def boxes(model: Model) -> list[str]:
    """The modules in the order of the computation: each side's, then the output layer."""
    drawn: list[str] = []
    for side in ("encoder", "decoder"):
        module = getattr(model, side, None)
        if isinstance(module, nn.Module):
            drawn += [f"{side}: {box}" if number == 0 else box for number, box in enumerate(_side(module))]
    return [*drawn, "output layer, softmax"]


def _side(side: nn.Module) -> list[str]:
    drawn = []
    if any(isinstance(child, Canvas) for child in side.children()):
        drawn.append("pixels")
    if hasattr(side, "embedding"):
        positions = getattr(side, "positions", None)
        ordered = isinstance(positions, PositionalEmbedding) and positions.kind != "none"
        drawn.append("embeddings + positions" if ordered else "embeddings")
    if isinstance(side, RecurrentDecoder) and side.attention is not None:
        drawn.append(_attention(side.attention))
    elif isinstance(side, RecurrentDecoder):
        drawn.append("vector c in every step" if side.every_step else "vector c as first state")
    stack = side.stack.layers if isinstance(side, RecurrentDecoder | RecurrentReader) else getattr(side, "layers", None)
    if isinstance(stack, Layers) and len(stack):
        count = len(stack)
        layer = next(iter(stack))
        drawn.append(f"{count} × {_layer(layer)}" if count > 1 else _layer(layer))
    return drawn


def _attention(attention: Attention) -> str:
    if isinstance(attention, MultiHeadAttention):
        return f"attention, {attention.heads} heads"
    assert isinstance(attention, ScoredAttention)
    name = type(attention.score).__name__.removeprefix("Fused")
    return f"attention, {re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', name).lower()} score"


def _layer(layer: nn.Module) -> str:
    """A layer by the parts that it has."""
    if isinstance(layer, DirectedLayer):
        cell = layer.forwards if layer.forwards is not None else layer.backwards
        assert cell is not None
        both = layer.forwards is not None and layer.backwards is not None
        return f"{_cell(cell)}, both ways" if both else _cell(cell)
    if isinstance(layer, Cell):
        return _cell(layer)
    names = [name for name, _ in layer.named_children()]
    causal = isinstance(layer, DecoderLayer)
    parts = [
        f"masked {PARTS[name]}" if causal and name == "self_attention" else PARTS[name]
        for name in PARTS
        if name in names and getattr(layer, name) is not None
    ]
    if "convolution" in names:
        parts = ["gated convolution", *parts]
    return "(" + ", ".join(parts) + ")" if parts else "residual convolutions"


def _cell(cell: Cell) -> str:
    return type(cell).__name__.removeprefix("Fused").replace("VanillaCell", "RNN").removesuffix("Cell")
