"""A trained run, ready to use: text in, results out. The only door that the command line and a server go through."""

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
from regard.pipeline.generators import Continuer, Translator
from regard.pipeline.pipeline import Pipeline
from regard.pipeline.result import Result
from regard.threads import prepare

__all__ = ["Captioner", "Classifier", "Continuer", "Pipeline", "Result", "Translator", "load"]


def load(
    path: str | Path,
    threads: int | None = None,
    weights: Literal["model", "last", "best"] = "model",
    engine: Engine = "torch",
    ensemble: str | Path | Sequence[str | Path] = (),
) -> Pipeline:
    """A run directory as a Translator, a Continuer, a Classifier or a Captioner. Loading runs no code of the run's.

    `engine`: ctranslate2 (or ctranslate2-int8) decodes a Transformer faster; auto takes it where it can run.
    `ensemble`: another run, or several, that write every token together with this one, which is the one looked into.
    """
    threads = prepare(threads)
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
            return Continuer(run)
        case "classification":
            return Classifier(run)
        case "captioning":
            return Captioner(run)
