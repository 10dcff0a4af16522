"""A folder for Hugging Face `transformers`, without code of ours: a class of theirs that has the same formula.

pre-norm    PegasusForConditionalGeneration, whose table of positions is stored: sinusoidal or learned
post-norm   MarianMTModel, which computes its sinusoids

config.json, generation_config.json, model.safetensors   the model
tokenizer.json, tokenizer_config.json                    the tokenizer, which adds </s>
README.md                                                the model card
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from regard.checkpoint import Run
from regard.config import ModelPlan
from regard.data.tokenizer import Tokenizer
from regard.data.vocabulary import BOS, EOS, PAD, SPECIALS
from regard.errors import UserError
from regard.files import write_text
from regard.inference.ctranslate2.conversion import NEVER, WANTED
from regard.interop.ctranslate2_folder import dev_texts
from regard.interop.identity import PieceIdentity
from regard.interop.marian_weights import feature_order, layer_pairs, their_layers
from regard.interop.model_card import CARD, model_card
from regard.interop.onnx_folder import write_hub_tokenizer
from regard.interop.places import new_folder
from regard.models.seq2seq import Seq2Seq
from regard.models.transformer import TransformerDecoder, TransformerEncoder
from regard.nn.positions import sinusoid
from regard.weights import weights_of

TRANSFORMERS_USAGE = "AutoModelForSeq2SeqLM.from_pretrained(FOLDER), AutoTokenizer.from_pretrained(FOLDER)"
CLASSES = {"pre": ("pegasus", "PegasusForConditionalGeneration"), "post": ("marian", "MarianMTModel")}
POSITIONS = {"pre": ("sinusoidal", "learned"), "post": ("sinusoidal",)}
LONGEST = 1024  # positions of a sinusoid that are written down


def write_transformers(run: Run, place: Path, force: bool) -> PieceIdentity:
    """The folder, whole; and how far its tokenizer is ours."""
    problem = _unsuited(run)
    if problem is not None:
        raise UserError(f"{run.path}: {problem}")
    tokenizer = run.source_codec
    assert isinstance(tokenizer, Tokenizer)
    sources, targets = dev_texts(run)
    with new_folder(place) as folder:
        identity = write_hub_tokenizer(tokenizer, folder / "tokenizer.json", sources + targets)
        identity.require(force)
        tensors = _their_tensors(run)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        for name, facts in _facts(run, tensors).items():
            write_text(folder / name, json.dumps(facts, indent=1) + "\n")
        write_text(folder / CARD, model_card(run, TRANSFORMERS_USAGE))
    return identity


def _unsuited(run: Run) -> str | None:
    """Why no class of theirs has this run's formula, and the setting that would fit; None: one has."""
    model = run.plan.model
    if run.task != "translation" or not model.is_transformer:
        return (
            "of translation models, transformers has classes for Transformers alone; "
            "train with --model.preset transformer --model.positions sinusoidal, or export to safetensors"
        )
    wanted: dict[str, tuple[Any, ...]] = {**WANTED}
    wanted["positions"] = POSITIONS.get(model.norm, ("sinusoidal",))
    for key, allowed in wanted.items():
        value = getattr(model, key)
        if value not in allowed:
            fitting = " or ".join(str(one).lower() if isinstance(one, bool) else str(one) for one in allowed)
            return f"no class of transformers has model.{key} = {value!r}; train with --model.{key} {fitting}"
    source, target = run.source_codec, run.target_codec
    if not (isinstance(source, Tokenizer) and isinstance(target, Tokenizer)):
        return "an imported model is in the hub's form already; convert the files that it came from"
    if source.kind == "decomposed":
        return "tokenizer.kind = 'decomposed' cannot be said in tokenizer.json alone; train with bpe"
    if not source.same_as(target):
        return "there, source and target have one table; train with tokenizer.shared = true"
    encoder, decoder = _sides(run)
    table = decoder.output.weight
    if not all(torch.equal(table, side.embedding.weight) for side in (encoder, decoder)):
        return "there, one table is for both sides and the output; train with model.tied_embeddings = true"
    return None if len(set(model.widths)) == 1 else "there, encoder and decoder have one width; train with model.width"


def _their_tensors(run: Run) -> dict[str, Tensor]:
    """Their names, with the features in their order: all sines before all cosines.

    <pad> and <s> get a logit of -1e9. So the row of <s> is free to be zeros where the decoder starts from zeros.
    """
    encoder, decoder = _sides(run)
    width = run.plan.model.widths[0]
    order = feature_order(width).argsort()
    weights = {name: tensor.detach().cpu().float() for name, tensor in weights_of(run.model).items()}
    depths = (len(encoder.layers), len(decoder.layers))
    tensors = their_layers(_with_biases(weights, depths), depths, width)
    size = _text_rows(run)
    table = decoder.output.weight.detach().cpu().float()[:size, order].clone()
    bias = decoder.output.bias.detach().cpu().float()[:size].clone()
    if decoder.embedding.zero is not None:
        table[decoder.embedding.zero] = 0
    bias[[PAD, BOS]] = NEVER
    tensors |= {"model.shared.weight": table, "final_logits_bias": bias.unsqueeze(0)}
    if run.plan.model.norm == "post":
        return tensors
    for side in ("encoder", "decoder"):
        for part in ("weight", "bias"):
            tensors[f"model.{side}.layer_norm.{part}"] = weights[f"{side}.norm.{part}"][order]
        learned = weights.get(f"{side}.positions.table")
        positions = sinusoid(torch.arange(LONGEST), width) if learned is None else learned
        tensors[f"model.{side}.embed_positions.weight"] = positions[:, order].contiguous()
    return tensors


def _sides(run: Run) -> tuple[TransformerEncoder, TransformerDecoder]:
    assert isinstance(run.model, Seq2Seq)
    encoder, decoder = run.model.encoder, run.model.decoder
    assert isinstance(encoder, TransformerEncoder) and isinstance(decoder, TransformerDecoder)
    return encoder, decoder


def _text_rows(run: Run) -> int:
    """Rows that stand for pieces; those of placeholders come after them and have no names there."""
    assert isinstance(run.target_codec, Tokenizer)
    return run.target_codec.engine.get_vocab_size()


def _with_biases(weights: dict[str, Tensor], depths: tuple[int, int]) -> dict[str, Tensor]:
    """Zeros where theirs has a bias and ours has none: in attention."""
    filled = dict(weights)
    for side, depth in zip(("encoder", "decoder"), depths, strict=True):
        for name, _, _ in layer_pairs(side, depth):
            if name not in filled and name.endswith("_proj.bias"):
                filled[name] = torch.zeros(len(weights[f"{name.removesuffix('bias')}weight"]))
    return filled


def _facts(run: Run, tensors: dict[str, Tensor]) -> dict[str, dict[str, Any]]:
    """The files of settings. None where a default of theirs is for a model of theirs."""
    model: ModelPlan = run.plan.model
    kind, architecture = CLASSES[model.norm]
    stored = tensors.get("model.decoder.embed_positions.weight")
    longest = LONGEST if stored is None else len(stored)
    marks = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS, "decoder_start_token_id": BOS}
    config: dict[str, Any] = {
        "model_type": kind,
        "architectures": [architecture],
        "is_encoder_decoder": True,
        "d_model": model.widths[0],
        "vocab_size": _text_rows(run),
        "max_position_embeddings": longest,
        "activation_function": model.activation,
        "scale_embedding": True,
        "tie_word_embeddings": True,
        "forced_eos_token_id": None,
        "dropout": 0.0,
        "torch_dtype": "float32",
        **marks,
    }
    if kind == "marian":
        config |= {"decoder_vocab_size": _text_rows(run), "share_encoder_decoder_embeddings": True}
    for side, depth in zip(("encoder", "decoder"), model.depths, strict=True):
        inner = tensors[f"model.{side}.layers.0.fc1.weight"]
        config |= {f"{side}_layers": depth, f"{side}_attention_heads": model.heads, f"{side}_ffn_dim": len(inner)}
    config["num_hidden_layers"] = config["encoder_layers"]
    generation = {**marks, "num_beams": 1, "max_length": min(512, longest)}
    names = {"pad_token": SPECIALS[PAD], "bos_token": SPECIALS[BOS], "eos_token": SPECIALS[EOS]}
    tokenizer = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": longest, **names}
    tokenizer |= {"clean_up_tokenization_spaces": False, "model_input_names": ["input_ids", "attention_mask"]}
    return {"config.json": config, "generation_config.json": generation, "tokenizer_config.json": tokenizer}
