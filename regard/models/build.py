"""ModelPlan → model. The one place that knows every architecture."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from regard.config import ModelPlan
from regard.config.values import CELL, IMAGE_ENCODERS
from regard.data.vocabulary import BOS
from regard.models.classifier import ClassifierModel
from regard.models.convolution import ConvolutionDecoder, ConvolutionEncoder
from regard.models.language import LanguageModel, TransformerReader
from regard.models.recurrent import RecurrentDecoder, RecurrentEncoder, RecurrentReader
from regard.models.seq2seq import Decoder, Encoder, Model, Seq2Seq
from regard.models.tagger import TaggerModel
from regard.models.transformer import LayerShape, TransformerDecoder, TransformerEncoder
from regard.models.vision import Canvas, ConvolutionStem, GridEncoder, LinearStem, PatchEncoder
from regard.nn.attention import (
    Additive,
    Attention,
    Bilinear,
    Cosine,
    Dot,
    MultiHeadAttention,
    Projected,
    ScaledDot,
    ScoredAttention,
    Scorer,
)
from regard.nn.copying import Pointer
from regard.nn.embedding import Embedding, Output
from regard.nn.positions import PositionalEmbedding
from regard.nn.recurrent import LSTMCell


def build_model(config: ModelPlan, source_size: int, target_size: int, shared: bool, seed: int) -> Model:
    """A model with fresh weights, the same for the same seed. `shared`: both sides have one vocabulary.

    Of images, source_size is the number of words that may go with them, and one for none.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _assemble(config, source_size, target_size, shared)
        _initialise(model)
    return model


def _assemble(config: ModelPlan, source_size: int, target_size: int, shared: bool) -> Model:
    dropout = config.dropout
    encoder_width, decoder_width = config.widths
    limit = config.max_positions if config.positions == "learned" else None
    limits = {"transformer": limit, "convolution": limit}
    if config.encoder == "none":
        return _build_language(config, target_size, dropout, decoder_width, limit)
    if config.encoder in IMAGE_ENCODERS:
        source_embedding, encoder = None, _build_image_encoder(config, source_size, encoder_width, dropout)
    else:
        source_embedding = Embedding(source_size, encoder_width, dropout, _zero(config))
        encoder = _build_encoder(config, source_embedding, dropout)
    if config.decoder == "none":
        if config.pooling == "none":
            return TaggerModel(encoder, target_size, dropout, limits.get(config.encoder))
        return ClassifierModel(encoder, config.pooling, target_size, dropout, limits.get(config.encoder))
    one_table = source_embedding is not None and shared and config.tied_embeddings and encoder_width == decoder_width
    embedding = source_embedding if one_table else Embedding(target_size, decoder_width, dropout, _zero(config))
    decoder = _build_decoder(config, embedding, encoder.width, target_size, dropout)
    assert shared or not config.pointer, "what is copied must mean the same on both sides"
    pointer = Pointer(encoder.width, decoder.output) if config.pointer else None
    return Seq2Seq(encoder, decoder, limits.get(config.encoder), limits.get(config.decoder), pointer)


def _build_image_encoder(config: ModelPlan, words: int, width: int, dropout: float) -> Encoder:
    depth, _ = config.depths
    canvas = Canvas(words, width, config.image_size, CELL, config.augment)
    if config.encoder == "grid":
        return GridEncoder(canvas, width, depth, dropout)
    stem = ConvolutionStem(width) if config.stem == "convolution" else LinearStem(width, CELL)
    return PatchEncoder(canvas, replace(_shape(config, width, dropout), positions=None), stem, depth)


def _build_encoder(config: ModelPlan, embedding: Embedding, dropout: float) -> Encoder:
    (width, _), (depth, _) = config.widths, config.depths
    shape, positions = _shape(config, width, dropout), _positions(config, width)
    match config.encoder:
        case "rnn":
            return RecurrentEncoder(
                embedding, config.cell, config.direction, width, depth, dropout, _learns_start(config)
            )
        case "transformer":
            return TransformerEncoder(embedding, positions, shape, depth)
        case "convolution":
            return ConvolutionEncoder(embedding, positions, shape, config.kernel, depth)
        case "grid" | "patches" | "none":
            raise AssertionError("images are read elsewhere, and a language model has no encoder")


def _build_decoder(config: ModelPlan, embedding: Embedding, memory_width: int, size: int, dropout: float) -> Decoder:
    (_, width), (_, depth) = config.widths, config.depths
    tied = config.tied_embeddings
    if config.decoder == "rnn":
        context = _attention(config, width, memory_width) if config.context == "attention" else config.context
        return RecurrentDecoder(
            embedding,
            config.cell,
            width,
            depth,
            memory_width,
            context,
            size,
            tied,
            dropout,
            token_queries=config.query == "state-and-token",
        )
    shape, positions = _shape(config, width, dropout), _positions(config, width)
    output = Output(width, size, embedding if tied else None)
    if config.decoder == "transformer":
        return TransformerDecoder(embedding, positions, shape, depth, memory_width, output)
    return ConvolutionDecoder(embedding, positions, shape, config.kernel, depth, memory_width, output)


def _build_language(config: ModelPlan, size: int, dropout: float, width: int, limit: int | None) -> Model:
    _, depth = config.depths
    embedding = Embedding(size, width, dropout, _zero(config))
    if config.decoder == "rnn":
        tied, learned = config.tied_embeddings, _learns_start(config)
        reader = RecurrentReader(embedding, config.cell, width, depth, size, tied, dropout, learned)
        return LanguageModel(reader, None)
    shape, positions = _shape(config, width, dropout), _positions(config, width)
    output = Output(width, size, embedding if config.tied_embeddings else None)
    return LanguageModel(TransformerReader(embedding, positions, shape, depth, output), limit)


def _zero(config: ModelPlan) -> int | None:
    """The id that is embedded as zeros: that of the start, where it is not learned. No source has it."""
    return BOS if config.start == "zero" else None


def _learns_start(config: ModelPlan) -> bool:
    return config.first_state == "learned"


def _shape(config: ModelPlan, width: int, dropout: float) -> LayerShape:
    return LayerShape(
        width=width,
        heads=config.heads,
        head_layout=config.head_layout,
        ffn_width=config.ffn_width or 4 * width,
        norm=config.norm,
        activation=config.activation,
        dropout=dropout,
        attention_dropout=config.attention_dropout,
        ffn_dropout=dropout if config.ffn_dropout is None else config.ffn_dropout,
        positions=config.positions if config.positions in ("rotary", "alibi") else None,
        attention_bias=config.attention_bias,
        residuals=config.residuals,
        projected=config.projections == "learned",
    )


def _positions(config: ModelPlan, width: int) -> PositionalEmbedding:
    kind = config.positions if config.positions in ("learned", "sinusoidal") else "none"
    return PositionalEmbedding(kind, config.position_combine, width, config.max_positions)


def _attention(config: ModelPlan, query_width: int, memory_width: int) -> Attention:
    if config.score == "multi-head":
        return MultiHeadAttention(
            query_width,
            memory_width,
            config.heads,
            config.head_layout,
            config.attention_dropout,
            bias=config.attention_bias,
        )
    score, proportional = _score(config, query_width, memory_width), config.weighting == "proportional"
    return ScoredAttention(score, memory_width, config.attention_dropout, proportional)


def _score(config: ModelPlan, query_width: int, memory_width: int) -> Scorer:
    match config.score:
        case "additive":
            return Additive(query_width, memory_width)
        case "dot":
            return Dot()
        case "scaled-dot":
            return ScaledDot()
        case "bilinear":
            return Bilinear(query_width, memory_width)
        case "projected":
            return Projected(query_width, memory_width)
        case "cosine":
            return Cosine()
        case "multi-head":
            raise AssertionError("multi-head attention is not a score")


def _initialise(model: nn.Module) -> None:
    """Glorot for matrices, zero for biases, He for convolutions
    over images, orthogonal recurrence, open forget gates; tables draw their own."""
    for name, module in model.named_modules():
        if isinstance(module, nn.Conv2d) and module.bias is not None:
            nn.init.zeros_(module.bias)
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        if isinstance(module, nn.Linear):
            if name.endswith("state_proj"):
                for gate in module.weight.data.split(module.in_features):
                    nn.init.orthogonal_(gate)
            else:
                nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    for module in model.modules():  # a second walk: a cell comes before its projections, which would close it again
        if isinstance(module, LSTMCell):
            module.input_proj.bias.data[module.width : 2 * module.width] = 1.0
