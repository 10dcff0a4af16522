"""regard export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def export(
    run: Path,
    /,
    *,
    to: Literal["argos", "ctranslate2", "html", "safetensors", "onnx", "transformers"],
    out: Path,
    precision: Literal["float32", "int8"] | None = None,
    force: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Write a run for another program. What would be lost is said before anything is written.

    Parameters
    ----------
    run
        A run directory.
    to
        The format: argos is a package for Argos Translate and LibreTranslate; ctranslate2 is a folder for CTranslate2;
        html is one page that holds the model and runs it; safetensors is the weights with their formulas and a NumPy
        program; onnx is graphs for onnxruntime and transformers.js; transformers is a folder for the Hugging Face
        library.
    out
        The folder or file to write; it must not be there.
    precision
        Of the weights: int8 for argos and html, else float32, unless it is given.
    force
        Also where the other program's tokenizer gives other pieces for more than one in a thousand.
    """
    from regard.interop import export_run

    for line in export_run(run, to, out, force, precision).summary():
        print(line, file=sys.stderr)
    return 0
