"""Inference with a trained run: text in, results out. The command line and the server use a model only through this."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from regard.checkpoint import load_run
from regard.config.settings import Engine
from regard.errors import UserError
from regard.pipeline.captioner import Captioner
from regard.pipeline.classifier import Classifier
from regard.pipeline.engine import fast_decoder
from regard.pipeline.ensemble import ensemble_of
from regard.pipeline.interface import Pipeline
from regard.pipeline.result import Result
from regard.pipeline.text_generator import TextGenerator
from regard.pipeline.translator import Translator
from regard.threads import configure_torch

__all__ = ["Captioner", "Classifier", "Pipeline", "Result", "TextGenerator", "Translator", "load"]


def load(
    path: str | Path,
    threads: int | None = None,
    weights: Literal["model", "last", "best"] = "model",
    engine: Engine = "torch",
    ensemble: str | Path | Sequence[str | Path] = (),
) -> Pipeline:
    """A run directory as a Translator, a TextGenerator, a Classifier or a Captioner. Loading executes no code.

    `engine`: ctranslate2 (or ctranslate2-int8) decodes a Transformer faster; auto takes it where it can run.
    `ensemble`: other runs, whose probabilities are averaged with those of this one; traces are of this one alone.
    """
    threads = configure_torch(threads)
    run = load_run(path, weights)
    if ensemble:
        if engine not in ("torch", "auto"):
            raise UserError(f"--engine {engine} runs one model alone; leave it out, or --ensemble")
        others = [ensemble] if isinstance(ensemble, str | Path) else ensemble
        together = ensemble_of([run, *(load_run(other, weights) for other in others)])
        return Translator(run, None, together)
    fast = fast_decoder(run, engine, threads)
    match run.task:
        case "translation":
            return Translator(run, fast)
        case "continuation":
            return TextGenerator(run)
        case "classification":
            return Classifier(run)
        case "captioning":
            return Captioner(run)
