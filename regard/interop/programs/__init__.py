"""Parts of a NumPy program that runs a model: layers, one encoder, one decoder, and the loop around them.

`program` joins the parts of a model into one file, which needs numpy, safetensors and tokenizers, nothing else.
The parts are written to be read, not to be fast: each step computes everything anew.
"""

from __future__ import annotations

import re
from importlib import resources

from regard.config import ModelPlan

LAYERS = ("layers", "attention", "blocks", "cells", "gates", "transformer_layers")
NEEDED = {  # by the encoder or the decoder
    "transformer": ("layers", "attention", "blocks", "transformer_layers"),
    "convolution": ("layers", "attention", "blocks", "gates"),
    "rnn": ("layers", "attention", "cells"),
    "none": (),
}
OWN = re.compile(r"^from regard\.interop\.programs\.\w+ import .+\n", re.MULTILINE)
IMPORT = re.compile(r"^(?:import|from) .+\n", re.MULTILINE)


def parts(model: ModelPlan) -> list[str]:
    """The parts of this model's program, in order."""
    needed = {*NEEDED[model.encoder], *NEEDED[model.decoder]}
    encoder = [] if model.encoder == "none" else [f"{model.encoder}_encoder"]
    reader = model.encoder == "none" and model.decoder == "rnn"
    decoder = "rnn_language" if reader else f"{model.decoder}_decoder"
    return [*(part for part in LAYERS if part in needed), *encoder, decoder, "main"]


def program(model: ModelPlan) -> str:
    """One file: all imports, then the parts as they stand."""
    texts = [OWN.sub("", _text(part)) for part in parts(model)]
    imports = sorted({line for text in texts for line in IMPORT.findall(text)}, key=_import_order)
    bodies = [re.sub(r"\n{4,}", "\n\n\n", IMPORT.sub("", text).strip("\n")) for text in texts]
    bodies = [re.sub(r"\A(# .+)\n\n+", r"\1\n", body) for body in bodies]  # a heading stands at what it heads
    head = '"""Runs the model in this folder: texts on standard input, a line each; outputs on standard output."""\n\n'
    return head + "".join(imports) + "\n" + "\n\n\n".join(bodies) + "\n"


def _import_order(line: str) -> tuple[bool, str]:
    return line.split()[1].partition(".")[0] in ("numpy", "safetensors", "tokenizers"), line


def _text(part: str) -> str:
    return (resources.files("regard.interop.programs") / f"{part}.py").read_text(encoding="utf-8")
