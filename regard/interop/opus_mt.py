"""OPUS-MT models: Marian's Transformers, as the Hugging Face hub ships them (Tiedemann & Thottingal 2020).

config.json, generation_config.json    sizes, marks, the search
model.safetensors                      weights (pytorch_model.bin is pickled, and refused)
source.spm, target.spm                 SentencePiece models
vocab.json, target_vocab.json          ids of pieces; one vocabulary for both sides, or two
tokenizer_config.json, README.md       languages and licence
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from regard.config import SearchSettings, settle
from regard.config.plan import plan_model
from regard.config.values import LanguageCode
from regard.data.sentencepiece import SentencePieceTokenizer
from regard.data.vocabulary import SPECIALS
from regard.errors import UserError
from regard.interop.imported import ImportedModel, Origin
from regard.interop.marian_weights import chosen_rows, feature_order, our_layers

UNLIKELY = -100.0  # the logit of our start mark, which no Marian model writes: e^-100 is nothing to a softmax
ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}
TO_SAFETENSORS = (
    'python -c "import torch; from safetensors.torch import save_file; '
    "save_file({name: tensor.clone() for name, tensor in torch.load('pytorch_model.bin', weights_only=True).items()}, "
    "'model.safetensors')\""
)


def read_opus_mt(folder: Path) -> ImportedModel:
    """A folder with the files above."""
    config = read_json(folder / "config.json")
    if config.get("model_type") != "marian":
        raise UserError(
            f"{folder}: config.json names a model of type {config.get('model_type')!r}; opus-mt takes 'marian'"
        )
    weights = read_weights(folder)
    vocabularies = [read_json(folder / "vocab.json")]
    if not config.get("share_encoder_decoder_embeddings", True):
        vocabularies.append(read_json(folder / "target_vocab.json"))
    origin = Origin(str(config.get("_name_or_path") or folder.name), "opus-mt", _licence(folder), _languages(folder))
    search = {**config, **(read_json(folder / "generation_config.json", needed=False))}
    return marian_model(folder, config, weights, vocabularies, _search(search), origin)


def marian_model(
    folder: Path,
    config: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    vocabularies: list[dict[str, int]],
    search: SearchSettings,
    origin: Origin,
) -> ImportedModel:
    """From the hub's names. `vocabularies`: one for both sides, or one each; SentencePiece's models are in `folder`."""
    activation = str(config.get("activation_function", "gelu"))
    if activation not in ACTIVATIONS:
        raise UserError(f"{folder}: activation_function {activation!r} is not known; known: {', '.join(ACTIVATIONS)}")
    heads = {int(config[f"{side}_attention_heads"]) for side in ("encoder", "decoder")}
    ffn_widths = {int(config[f"{side}_ffn_dim"]) for side in ("encoder", "decoder")}
    if len(heads) > 1 or len(ffn_widths) > 1:
        raise UserError(f"{folder}: encoder and decoder differ in heads or feed-forward width, which ours cannot")
    width, depths = int(config["d_model"]), (int(config["encoder_layers"]), int(config["decoder_layers"]))
    orders = [RowOrder(config, vocabulary, folder) for vocabulary in vocabularies]
    try:
        layers = our_layers(weights, depths, width)
        tables = _tables(config, weights, orders, width)
    except KeyError as error:
        raise UserError(f"{folder}: its weights lack {error}; the file is damaged or of another model") from None
    starts_from_zeros = not bool(tables["decoder.embedding.weight"][1].any())
    model = {
        "preset": "marian",
        "width": width,
        "depth": depths[0],
        "decoder_depth": depths[1],
        "heads": heads.pop(),
        "ffn_width": ffn_widths.pop(),
        "activation": ACTIVATIONS[activation],
        "start": "zero" if starts_from_zeros else "learned",
        "tied_embeddings": _scaled(config) and bool(config.get("tie_word_embeddings", True)),
        "dropout": float(config.get("dropout", 0.1)),
    }
    plan = plan_model(settle({"model": model}).model)
    sides = zip(("source", "target"), (orders[0], orders[-1]), strict=True)
    codecs = [
        SentencePieceTokenizer(read_bytes(folder / f"{side}.spm"), order.names, str(folder / f"{side}.spm"))
        for side, order in sides
    ]
    return ImportedModel(plan, codecs[0], codecs[1], layers | tables, search, origin)


class RowOrder:
    """Our order of a vocabulary's entries: pad, start, end, then the others as they are. `rows`: theirs."""

    def __init__(self, config: Mapping[str, Any], vocabulary: dict[str, int], folder: Path) -> None:
        pad, end = int(config["pad_token_id"]), int(config["eos_token_id"])
        start = int(config.get("decoder_start_token_id", pad))
        names = {i: name for name, i in vocabulary.items()}
        size = max([*names, pad, end, start]) + 1
        others = [i for i in range(size) if i not in (pad, end)]
        if len(names) < len(vocabulary):
            raise UserError(f"{folder}: two pieces of its vocabulary have one id; restore the file")
        self.rows = [pad, start, end, *others]
        self.names = [*SPECIALS, *(names.get(i, f"<unused {i}>") for i in others)]


def _tables(
    config: Mapping[str, Any], weights: Mapping[str, Tensor], orders: list[RowOrder], width: int
) -> dict[str, Tensor]:
    """Embeddings and the output layer."""
    features = feature_order(width)
    shared = weights.get("model.shared.weight")
    sides = [weights.get(f"model.{side}.embed_tokens.weight", shared) for side in ("encoder", "decoder")]
    source, target = (side if side is not None else weights["lm_head.weight"] for side in sides)
    output = target if config.get("tie_word_embeddings", True) else weights["lm_head.weight"]
    bias = weights.get("final_logits_bias", torch.zeros(1, len(target))).float().flatten()
    scale = 1.0 if _scaled(config) else width**-0.5  # ours are always multiplied by √D
    tables = {
        "encoder.embedding.weight": scale * chosen_rows(source, orders[0].rows)[:, features].float(),
        "decoder.embedding.weight": scale * chosen_rows(target, orders[-1].rows)[:, features].float(),
        "decoder.output.weight": chosen_rows(output, orders[-1].rows)[:, features].float(),
        "decoder.output.bias": chosen_rows(bias, orders[-1].rows),
    }
    tables["decoder.output.bias"][1] = UNLIKELY
    return tables


def _scaled(config: Mapping[str, Any]) -> bool:
    return bool(config.get("scale_embedding", False))


def _search(config: Mapping[str, Any]) -> SearchSettings:
    fields = {"beams": config.get("num_beams"), "length_penalty": config.get("length_penalty")}
    return SearchSettings.model_validate({key: value for key, value in fields.items() if value is not None})


def read_weights(folder: Path) -> dict[str, Tensor]:
    file = folder / "model.safetensors"
    if not file.is_file() and (folder / "pytorch_model.bin").is_file():
        raise UserError(
            f"{folder / 'pytorch_model.bin'} is pickled, and may run anything when it is read; where you trust it, "
            f"convert it there once: {TO_SAFETENSORS}"
        )
    if not file.is_file():
        raise UserError(f"{folder} has no model.safetensors; give the folder of an OPUS-MT model")
    try:
        return load_file(file)
    except (SafetensorError, OSError) as error:
        raise UserError(f"{file} is damaged ({error}); restore it") from None


def read_json(file: Path, needed: bool = True) -> dict[str, Any]:
    if not needed and not file.is_file():
        return {}
    try:
        content = json.loads(read_bytes(file))
    except ValueError as error:
        raise UserError(f"{file} is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise UserError(f"{file} is not a JSON object; restore it")
    return content


def read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}); opus-mt takes a whole folder") from None


def _languages(folder: Path) -> tuple[str | None, str | None]:
    config = read_json(folder / "tokenizer_config.json", needed=False)
    source, target = config.get("source_lang"), config.get("target_lang")
    return (_code(source), _code(target))


def _code(language: object) -> str | None:
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(LanguageCode).validate_python(language)
    except ValidationError:  # of a model with several, such as "roa"
        return None


def _licence(folder: Path) -> str | None:
    """What the README's head says."""
    file = folder / "README.md"
    if not file.is_file():
        return None
    head = re.match(r"---\n(.*?)\n---", file.read_text(encoding="utf-8", errors="replace"), re.DOTALL)
    found = re.search(r"^licen[sc]e: *(\S.*)$", head[1], re.MULTILINE) if head else None
    return found[1].strip() if found else None
