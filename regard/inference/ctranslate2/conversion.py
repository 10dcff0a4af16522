"""A Transformer of ours as a CTranslate2 model, built from the weights in memory and kept beside the run."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from regard.config import ModelPlan
from regard.data.lexicon import Lexicon
from regard.data.tokenizer import PAD
from regard.files import write_text
from regard.inference.ctranslate2.vocabularies import Entries, Vocabularies, vocabularies_of_ids
from regard.inference.incremental.model import IncrementalModel
from regard.inference.incremental.transformer import joined_bias
from regard.models.seq2seq import Model, Seq2Seq
from regard.models.transformer import TransformerDecoder, TransformerEncoder
from regard.nn.attention import MultiHeadAttention
from regard.nn.blocks import FeedForward, Residual
from regard.nn.positions import PositionalEmbedding, sinusoid

Precision = Literal["float32", "int8"]
POSITIONS = 2048  # rows of sinusoids that are written down; what is longer is decoded by torch
VOCABULARY_MAP = "vmap.txt"  # the name that ctranslate2 looks for
MAPPED = 64  # target tokens of a source token in it, however many sentences a batch has
MARK = "weights.txt"  # which weights a built model has
NEVER = -1e9  # the logit of what is never written
CONVERTER = 3  # to be raised when what is built changes
WANTED = {
    "head_layout": ("split",),
    "norm": ("pre", "post"),
    "activation": ("relu", "gelu", "silu"),
    "positions": ("sinusoidal", "learned", "rotary", "none"),
    "position_combine": ("add",),
    "residuals": (True,),
    "projections": ("learned",),
    "pointer": (False,),
}


def why_not(config: ModelPlan, model: Model | IncrementalModel) -> str | None:
    """Why this model cannot run on CTranslate2, or None."""
    problem = unsuited(config, model)
    return None if problem is None else f"{problem}; take --engine torch"


def unsuited(config: ModelPlan, model: Model | IncrementalModel) -> str | None:
    """The same without a remedy."""
    try:
        import ctranslate2  # noqa: F401
    except ImportError:
        return "ctranslate2 is not installed (pip install 'regard[fast]')"
    if not (isinstance(model, Seq2Seq) and config.is_transformer):
        return "only a Transformer with encoder and decoder runs on ctranslate2"
    for key, allowed in WANTED.items():
        value = getattr(config, key)
        if value not in allowed:
            takes = " or ".join(map(str, allowed))
            return f"model.{key} = {value!r} does not run on ctranslate2, which takes {takes}"
    return None


def built_model(
    model: Model,
    config: ModelPlan,
    folder: Path,
    precision: Precision,
    lexicon: Lexicon | None = None,
    anew: bool = False,
) -> Path:
    """The folder of the built model: the one that is there where it has these weights and settings, else a new one."""
    destination = folder / f"ctranslate2-{precision}"
    mark = _fingerprint(model, config, lexicon)
    if not anew and (destination / MARK).is_file() and (destination / MARK).read_text(encoding="utf-8") == mark:
        return destination
    assert isinstance(model, Seq2Seq)
    spec = specification(model, config, _vocabularies_of(model), precision)
    draft = Path(tempfile.mkdtemp(prefix=f".{destination.name}-", dir=folder))  # it takes its name when it is whole
    spec.save(str(draft))
    if lexicon is not None:
        write_text(draft / VOCABULARY_MAP, _vocabulary_map(lexicon))
    write_text(draft / MARK, mark)
    shutil.rmtree(destination, ignore_errors=True)
    draft.replace(destination)
    return destination


def _fingerprint(model: Model, config: ModelPlan, lexicon: Lexicon | None) -> str:
    """Changes with the weights, with what is done with them, and with who built it."""
    import ctranslate2

    digest = hashlib.blake2b(f"{CONVERTER} {ctranslate2.__version__} {config!r}".encode(), digest_size=16)
    for name, tensor in model.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    if lexicon is not None:
        digest.update(lexicon.likely.tobytes() + lexicon.frequent.tobytes())
    return digest.hexdigest()


def _vocabulary_map(lexicon: Lexicon) -> str:
    """A line a source token: it, TAB, its target tokens; the line of no token has those that are always allowed."""
    lists = [("", lexicon.frequent), *((str(i), ids[ids != PAD]) for i, ids in enumerate(lexicon.likely[:, :MAPPED]))]
    return "".join(f"{token}\t{' '.join(map(str, ids.tolist()))}\n" for token, ids in lists)


def _vocabularies_of(model: Seq2Seq) -> Vocabularies:
    assert isinstance(model.encoder, TransformerEncoder)
    return vocabularies_of_ids(len(model.encoder.embedding.weight), len(model.decoder.output.weight))


def specification(model: Seq2Seq, config: ModelPlan, vocabularies: Vocabularies, precision: Precision) -> Any:
    """What CTranslate2 saves as a model."""
    from ctranslate2.specs import TransformerDecoderSpec, TransformerEncoderSpec, TransformerSpec
    from ctranslate2.specs.common_spec import Activation

    encoder, decoder = model.encoder, model.decoder
    assert isinstance(encoder, TransformerEncoder) and isinstance(decoder, TransformerDecoder)
    activations = {"relu": Activation.RELU, "gelu": Activation.GELU, "silu": Activation.SWISH}
    shape = {
        "num_heads": config.heads,
        "pre_norm": config.norm == "pre",
        "activation": activations[config.activation],
        "rotary_dim": 0 if config.positions == "rotary" else None,  # 0: all of a head's
    }
    spec = TransformerSpec(
        TransformerEncoderSpec(len(encoder.layers), **shape), TransformerDecoderSpec(len(decoder.layers), **shape)
    )
    _encoder(spec.encoder, encoder, vocabularies.source)
    _decoder(spec.decoder, decoder, vocabularies.target)
    spec.register_source_vocabulary(list(vocabularies.source.names))
    spec.register_target_vocabulary(list(vocabularies.target.names))
    marks: Any = spec.config
    marks.unk_token, marks.bos_token, marks.eos_token = vocabularies.unknown, vocabularies.bos, vocabularies.eos
    marks.decoder_start_token, marks.add_source_eos = vocabularies.bos, vocabularies.adds_eos
    spec.validate()
    spec.optimize(quantization=None if precision == "float32" else precision)
    return spec


def _encoder(spec: Any, encoder: TransformerEncoder, entries: Entries) -> None:
    spec.embeddings[0].weight = _rows(encoder.embedding.weight, entries)
    spec.position_encodings.encodings = _positions(encoder.positions)
    for layer_spec, layer in zip(spec.layer, encoder.layers, strict=True):
        _self_attention(layer_spec.self_attention, layer.self_attention, layer.self_residual)
        _feed_forward(layer_spec.ffn, layer.feed_forward, layer.ffn_residual)
    _last_norm(spec, encoder.norm)


def _decoder(spec: Any, decoder: TransformerDecoder, entries: Entries) -> None:
    table = _rows(decoder.embedding.weight, entries)
    if decoder.embedding.zero is not None:
        table[[index for index, row in enumerate(entries.rows) if row == decoder.embedding.zero]] = 0
    spec.embeddings.weight = table
    if hasattr(spec, "position_encodings"):  # not where attention turns its queries and keys
        spec.position_encodings.encodings = _positions(decoder.positions)
    spec.projection.weight, bias = _rows(decoder.output.weight, entries), _rows(decoder.output.bias, entries)
    bias[[index for index, row in enumerate(entries.rows) if row is None or index in entries.silent]] = NEVER
    spec.projection.bias = bias
    for layer_spec, layer in zip(spec.layer, decoder.layers, strict=True):
        _self_attention(layer_spec.self_attention, layer.self_attention, layer.self_residual)
        assert layer.cross_attention is not None and layer.cross_residual is not None
        _cross_attention(layer_spec.attention, layer.cross_attention, layer.cross_residual)
        _feed_forward(layer_spec.ffn, layer.feed_forward, layer.ffn_residual)
    _last_norm(spec, decoder.norm)


def _self_attention(spec: Any, attention: MultiHeadAttention, residual: Residual) -> None:
    _linear(spec.linear[0], attention.query_proj, attention.key_proj, attention.value_proj)
    _linear(spec.linear[1], attention.output_proj)
    _norm(spec.layer_norm, residual.norm)


def _cross_attention(spec: Any, attention: MultiHeadAttention, residual: Residual) -> None:
    _linear(spec.linear[0], attention.query_proj)
    _linear(spec.linear[1], attention.key_proj, attention.value_proj)
    _linear(spec.linear[2], attention.output_proj)
    _norm(spec.layer_norm, residual.norm)


def _feed_forward(spec: Any, feed_forward: FeedForward, residual: Residual) -> None:
    _linear(spec.linear_0, feed_forward.inner_proj)
    _linear(spec.linear_1, feed_forward.output_proj)
    _norm(spec.layer_norm, residual.norm)


def _linear(spec: Any, *projections: nn.Linear) -> None:
    """Of one input: their outputs side by side."""
    spec.weight = _array(torch.cat([projection.weight for projection in projections]))
    bias = joined_bias(*projections)
    if bias is not None:
        spec.bias = _array(bias)


def _norm(spec: Any, norm: nn.Module) -> None:
    assert isinstance(norm, nn.LayerNorm)
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _last_norm(spec: Any, norm: nn.Module) -> None:
    if isinstance(norm, nn.LayerNorm):  # of pre-norm alone
        _norm(spec.layer_norm, norm)


def _positions(positions: PositionalEmbedding) -> Any:
    if positions.kind == "learned":
        return _array(positions.table)
    if positions.kind == "none":
        return np.zeros((POSITIONS, positions.width), dtype=np.float32)
    return sinusoid(torch.arange(POSITIONS), positions.width).numpy()


def _rows(table: Tensor, entries: Entries) -> Any:
    """The rows of a table or of a bias in the order of the entries; zeros where the model has none."""
    numbers = torch.tensor([-1 if row is None else row for row in entries.rows])
    chosen = table.detach()[numbers.clamp_min(0)]
    chosen[numbers < 0] = 0
    return _array(chosen)


def _array(tensor: Tensor) -> Any:
    return tensor.detach().cpu().float().numpy().copy()  # int8 overwrites the arrays that it is given
