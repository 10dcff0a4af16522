"""A run for another program: which formats there are, and the one function that writes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from regard.checkpoint import Run, load_run
from regard.errors import UserError
from regard.inference.ctranslate2.conversion import Precision
from regard.interop.identity import PieceIdentity
from regard.interop.places import check_place

ExportFormat = Literal["argos", "ctranslate2", "html", "safetensors", "onnx", "transformers"]
ROUNDED = ("argos", "ctranslate2", "html", "onnx")  # formats that hold int8, too
USUALLY_ROUNDED = ("argos", "html")


@dataclass(frozen=True)
class Exported:
    """What was written, and where."""

    path: Path
    format: ExportFormat
    identity: PieceIdentity | None  # of the tokenizer that was written; None: there is none
    usage: str  # how to load it, in a line

    def summary(self) -> list[str]:
        """For people, a line each."""
        pieces = [] if self.identity is None else [f"tokenizer: {self.identity}"]
        return [f"wrote {self.path} ({self.format})", *pieces, f"use it: {self.usage}"]


def export_run(
    run: Path | str | Run,
    to: ExportFormat,
    out: Path | str,
    force: bool = False,
    precision: Precision | None = None,
) -> Exported:
    """Write a run as `to` into `out`, which must not be there. What cannot be said in that format is refused.

    force: also where the tokenizer gives other pieces. precision: float32, or int8 where the format has it; None: what
    suits the format, int8 for argos and html, float32 for the others.
    """
    place = Path(out)
    if to not in get_args(ExportFormat):
        raise UserError(f"--to {to} is unknown; formats: {', '.join(get_args(ExportFormat))}")
    precision = precision or ("int8" if to in USUALLY_ROUNDED else "float32")
    if precision != "float32" and to not in ROUNDED:
        raise UserError(f"--precision {precision}: {to} is written in float32; leave it out")
    check_place(place)
    run = run if isinstance(run, Run) else load_run(run)
    match to:
        case "argos":
            from regard.interop.argos_package import ARGOS_USAGE, write_argos

            return Exported(place, to, write_argos(run, place, precision, force), ARGOS_USAGE)
        case "ctranslate2":
            from regard.interop.ctranslate2_folder import USAGE, write_ctranslate2

            return Exported(place, to, write_ctranslate2(run, place, precision, force), USAGE)
        case "html":
            from regard.interop.html_page import HTML_USAGE, write_html

            write_html(run, place, precision)
            return Exported(place, to, None, HTML_USAGE)
        case "safetensors":
            from regard.interop.safetensors_folder import READING_USAGE, write_safetensors

            write_safetensors(run, place)
            return Exported(place, to, None, READING_USAGE)
        case "onnx":
            from regard.interop.onnx_folder import ONNX_USAGE, write_onnx

            return Exported(place, to, write_onnx(run, place, precision, force), ONNX_USAGE)
        case "transformers":
            from regard.interop.transformers_folder import TRANSFORMERS_USAGE, write_transformers

            return Exported(place, to, write_transformers(run, place, force), TRANSFORMERS_USAGE)
