"""Inference with a trained run: text in, results out. The command line and the server use a model only through this."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from regard.checkpoint import load_run
from regard.config.values import Engine
from regard.errors import UserError
from regard.inference.engine import DecodingModel
from regard.pipeline.captioner import Captioner
from regard.pipeline.classifier import Classifier
from regard.pipeline.ensemble import ensemble_of
from regard.pipeline.interface import Pipeline, require
from regard.pipeline.output_lines import output_line
from regard.pipeline.result import Result
from regard.pipeline.tagger import Tagger
from regard.pipeline.text_generator import TextGenerator
from regard.pipeline.text_model import SourceToText
from regard.pipeline.translator import Translator
from regard.threads import configure_torch

__all__ = [
    "Captioner",
    "Classifier",
    "Pipeline",
    "Result",
    "SourceToText",
    "Tagger",
    "TextGenerator",
    "Translator",
    "load",
    "output_line",
    "require",
]


def load(
    path: str | Path,
    threads: int | None = None,
    weights: Literal["model", "last", "best"] = "model",
    engine: Engine = "auto",
    ensemble: str | Path | Sequence[str | Path] = (),
) -> Pipeline:
    """A run directory as a Translator, TextGenerator, Classifier, Tagger or Captioner. Loading executes no code.

    `engine`: what decodes (regard.inference.engine). auto takes CTranslate2 only where its outputs are those of torch.
    `ensemble`: other runs, whose probabilities are averaged with those of this one; traces are of this one alone.
    """
    threads = configure_torch(threads)
    run = load_run(path, weights)
    if ensemble:
        if engine not in ("torch", "auto"):
            raise UserError(f"--engine {engine} runs one model alone; leave it out, or --ensemble")
        others = [ensemble] if isinstance(ensemble, str | Path) else ensemble
        members = [run, *(load_run(other, weights) for other in others)]
        return Translator(run, DecodingModel(ensemble_of(members), run, "torch", threads))
    decoding = DecodingModel(run.model, run, engine, threads)
    match run.task:
        case "translation":
            return Translator(run, decoding)
        case "continuation":
            return TextGenerator(run, decoding)
        case "classification":
            return Classifier(run, decoding)
        case "tagging":
            return Tagger(run, decoding)
        case "captioning":
            return Captioner(run, decoding)
