"""Weights and a plain reading of them, for a program of one's own.

model.safetensors   every weight once, in float32, by the names of torch's modules
config.json         the architecture, which names are tied, the kinds of the tokenizers
*.tokenizer.json    what tokenizers.Tokenizer.from_file loads
READING.md          names, shapes and formulas
run.py              the model in NumPy, to be read and to be run
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import nn

from regard.analysis.describe import blueprint
from regard.checkpoint import Run
from regard.data.tokenizer import Tokenizer
from regard.errors import UserError
from regard.files import write_bytes, write_text
from regard.interop.browser_model import model_facts, unsuited
from regard.interop.model_card import CARD, model_card
from regard.interop.places import new_folder
from regard.interop.programs import program
from regard.weights import Weights, weights_of

PROGRAM, READING = "run.py", "READING.md"
READING_USAGE = "python FOLDER/run.py < TEXTS  (needs numpy, safetensors and tokenizers)"
PLAIN = {  # torch's own layers
    "Linear": "y = x Wᵀ + b, weight (out, in)",
    "LayerNorm": "y = (x - mean) / √(variance + 1e-5) · weight + bias, over the last axis",
    "Conv1d": "y_t = Σ_k W_k x_(t+k) + b, weight (out, in, kernel)",
    "Conv2d": "the same over two axes, weight (out, in, kernel, kernel)",
}
SILENT = ("Tap", "Dropout", "Layers", "Identity", "ModuleList")  # change nothing, or hold others


def write_safetensors(run: Run, place: Path) -> None:
    """The folder, whole."""
    problem = why_no_program(run)
    if problem is not None:
        raise UserError(f"{run.path}: {problem}; its weights are in {run.path / 'model.safetensors'}")
    with new_folder(place) as folder:
        weights = {name: tensor.float().contiguous() for name, tensor in weights_of(run.model).items()}
        write_bytes(folder / "model.safetensors", safetensors.torch.save(weights, {"format": "pt"}))
        write_text(folder / "config.json", json.dumps(program_facts(run, weights), indent=1) + "\n")
        for side, codec in (("source", run.source_codec), ("target", run.target_codec)):
            assert isinstance(codec, Tokenizer), "why_no_program has looked"
            write_text(folder / f"{side}.tokenizer.json", codec.engine.to_str())
        write_text(folder / PROGRAM, program(run.plan.model))
        write_text(folder / READING, reading(run))
        write_text(folder / CARD, model_card(run, READING_USAGE))


def why_no_program(run: Run) -> str | None:
    """Why there is no program for this model; None: there is one."""
    if run.task == "captioning" or run.plan.model.pointer:
        return f"there is no NumPy program for {'a pointer' if run.plan.model.pointer else 'images'}"
    problem = unsuited(run)
    return problem and problem.replace("the page", "the NumPy program")


def program_facts(run: Run, weights: Weights) -> dict[str, Any]:
    """What run.py must know besides the weights."""
    places = {tensor.data_ptr(): name for name, tensor in weights_of(run.model).items()}
    state = run.model.state_dict(keep_vars=True)
    tied = {name: places[tensor.data_ptr()] for name, tensor in state.items() if name not in weights}
    target = run.target_codec
    source = target if run.task == "continuation" else run.source_codec
    assert isinstance(source, Tokenizer) and isinstance(target, Tokenizer), "why_no_program has looked"
    return {
        "task": run.task,
        "model": model_facts(run.plan.model),
        "tied": tied,
        "tokenizers": [source.kind, target.kind],
        "texts": target.engine.get_vocab_size(),
        "max_tokens": run.plan.search.max_tokens,
    }


def reading(run: Run) -> str:
    """Names, shapes and formulas, as Markdown."""
    sizes = run.source_codec.size, run.target_codec.size
    model = blueprint(run.plan.model, *sizes, run.source_codec is run.target_codec)
    owners = {name: module for name, module in model.named_modules() if type(module).__name__ not in SILENT}
    kinds = {type(module).__name__: module for module in owners.values()}
    lines = [
        f"# How to read {run.path.resolve().name}",
        "",
        "B batch, S source, T target, D width, H heads, K head width.",
    ]
    for kind, module in kinds.items():
        lines += ["", f"## {kind}", "", "```", _formula(module), "```", ""]
        lines += ["| weight | shape |", "|---|---|"]
        own = [(name, owner) for name, owner in owners.items() if type(owner).__name__ == kind]
        rows = [
            f"| `{name}.{weight}` | {tuple(tensor.shape)} |"
            for name, owner in own
            for weight, tensor in owner.named_parameters(recurse=False)
        ]
        lines = [*lines, *rows] if rows else lines[:-3]
    return "\n".join([*lines, ""])


def _formula(module: nn.Module) -> str:
    kind = type(module)
    return PLAIN.get(kind.__name__) or inspect.cleandoc(kind.__dict__.get("__doc__") or f"a {kind.__name__}")
