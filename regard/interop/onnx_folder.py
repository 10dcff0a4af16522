"""A folder for onnxruntime and transformers.js: encoder and decoder with caches, and the tokenizer.

config.json, generation_config.json, tokenizer.json, tokenizer_config.json   as transformers.js reads them
onnx/encoder_model.onnx, onnx/decoder_model_merged.onnx                      int8: their names end in _quantized
target.tokenizer.json                                                        where the target has its own vocabulary
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Engine
from tokenizers.processors import TemplateProcessing

from regard.checkpoint import Run
from regard.data.tokenizer import Tokenizer
from regard.data.vocabulary import BOS, EOS, PAD, SPECIALS
from regard.errors import UserError
from regard.files import write_text
from regard.inference.ctranslate2.conversion import Precision
from regard.interop.identity import PieceIdentity, compare_pieces, joined
from regard.interop.model_card import CARD, model_card
from regard.interop.places import new_folder
from regard.models.build import build_model
from regard.models.seq2seq import Seq2Seq
from regard.weights import load_weights, weights_of

ONNX_USAGE = "await pipeline('translation', FOLDER) of transformers.js, or onnxruntime with the files in onnx/"
GRAPHS = ("encoder_model", "decoder_model_merged")
QUANTIZE = """
import sys
from onnxruntime.quantization import QuantType, quantize_dynamic
# unsigned weights: signed ones overflow in the 16-bit sums of CPUs without VNNI
options = {"DefaultTensorType": 1}
quantize_dynamic(sys.argv[1], sys.argv[2], per_channel=True, weight_type=QuantType.QUInt8, extra_options=options)
"""


def write_onnx(run: Run, place: Path, precision: Precision, force: bool) -> PieceIdentity:
    """The folder, whole; and how far its tokenizers are ours."""
    problem = _unsuited(run)
    if problem is not None:
        raise UserError(f"{run.path}: {problem}")
    from regard.interop.onnx_graphs import write_graphs

    source, target = run.source_codec, run.target_codec
    assert isinstance(source, Tokenizer) and isinstance(target, Tokenizer), "a translation model has two texts"
    with new_folder(place) as folder:
        (folder / "onnx").mkdir()
        encoder, decoder = (folder / "onnx" / f"{name}.onnx" for name in GRAPHS)
        sides = [("tokenizer.json", source)] + ([] if source is target else [("target.tokenizer.json", target)])
        examples = run.examples("dev")
        texts = {id(target): [example.target for example in examples]}
        texts[id(source)] = [example.source for example in examples] + (texts[id(source)] if source is target else [])
        identity = joined(
            write_hub_tokenizer(tokenizer, folder / name, texts[id(tokenizer)]) for name, tokenizer in sides
        )
        identity.require(force)
        write_graphs(_plain(run), target.engine.get_vocab_size(), encoder, decoder)
        if precision == "int8":
            for graph in (encoder, decoder):
                _quantize(graph)
        for name, facts in _facts(run).items():
            write_text(folder / name, json.dumps(facts, indent=1) + "\n")
        write_text(folder / CARD, model_card(run, ONNX_USAGE))
    return identity


def _unsuited(run: Run) -> str | None:
    """Why there are no such graphs of this run; None: there are."""
    model = run.plan.model
    if run.task != "translation" or not model.is_transformer:
        return "only a Transformer that translates can be written as ONNX graphs; export others to html or safetensors"
    if model.pointer:
        return "there is no ONNX graph of a pointer; export to html"
    for codec in (run.source_codec, run.target_codec):
        if not isinstance(codec, Tokenizer) or codec.kind == "decomposed":
            return "its tokenizer cannot be said in tokenizer.json alone; train with another tokenizer.kind"
    missing = [name for name in ("onnx", "onnxscript", "onnxruntime") if find_spec(name) is None]
    return f"ONNX needs {', '.join(missing)}: pip install 'regard[interop]'" if missing else None


def _plain(run: Run) -> Seq2Seq:
    """The same model without fused layers."""
    sizes = run.source_codec.size, run.target_codec.size
    model = build_model(run.plan.model, *sizes, run.source_codec is run.target_codec, seed=1).eval()
    load_weights(model, weights_of(run.model), str(run.path))
    assert isinstance(model, Seq2Seq), "it is a Transformer with encoder and decoder"
    return model


def write_hub_tokenizer(tokenizer: Tokenizer, path: Path, texts: list[str]) -> PieceIdentity:
    """Ours with the end of the sentence after each text, and marks that are left out of what is decoded."""
    engine = Engine.from_str(tokenizer.engine.to_str())
    engine.add_special_tokens(list(SPECIALS))
    engine.post_processor = TemplateProcessing(single=f"$A {SPECIALS[EOS]}", special_tokens=[(SPECIALS[EOS], EOS)])
    write_text(path, engine.to_str())
    written = Engine.from_file(str(path))
    return compare_pieces(texts, lambda text: [*tokenizer.encode(text), EOS], lambda text: written.encode(text).ids)


def _quantize(graph: Path) -> None:
    """int8 weights in place of float32. In a process of its own: onnxruntime and CTranslate2 may lock each other's
    threads where both are loaded."""
    place = graph.with_name(f"{graph.stem}_quantized.onnx")
    command = [sys.executable, "-P", "-c", QUANTIZE, str(graph), str(place)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or not place.is_file():
        reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise UserError(f"onnxruntime could not round {graph.name}: {reason[0]}; leave --precision int8 out")
    graph.unlink()


def _facts(run: Run) -> dict[str, dict[str, Any]]:
    """The files of settings. transformers.js knows no regard: `marian` is its plainest encoder-decoder, and the graph
    decides what the layers are."""
    model = run.plan.model
    marks = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS, "decoder_start_token_id": BOS}
    depths, (width, decoder_width) = model.depths, model.widths
    config = {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "is_encoder_decoder": True,
        "d_model": decoder_width,
        "hidden_size": width,
        "encoder_layers": depths[0],
        "decoder_layers": depths[1],
        "num_hidden_layers": depths[1],
        "encoder_attention_heads": model.heads,
        "decoder_attention_heads": model.heads,
        "vocab_size": run.target_codec.size,
        "max_position_embeddings": min(run.model.max_source or 4096, run.model.max_target or 4096),
        **marks,
    }
    generation = {**marks, "num_beams": 1, "max_length": min(512, run.model.max_target or 512)}
    names = {"pad_token": SPECIALS[PAD], "bos_token": SPECIALS[BOS], "eos_token": SPECIALS[EOS]}
    tokenizer = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, **names}
    tokenizer |= {"clean_up_tokenization_spaces": False}
    return {"config.json": config, "generation_config.json": generation, "tokenizer_config.json": tokenizer}
