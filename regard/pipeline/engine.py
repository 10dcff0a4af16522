"""Which engine decodes: torch serves every model, CTranslate2 serves Transformers faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.checkpoint import Run
from regard.config.settings import Engine
from regard.errors import UserError
from regard.inference.ctranslate2.conversion import why_not

if TYPE_CHECKING:
    from regard.inference.ctranslate2.decoder import FastDecoder


def fast_decoder(run: Run, engine: Engine, threads: int) -> FastDecoder | None:
    """None: torch alone. Asked for by name, an engine that cannot run the model is refused with the reason."""
    if engine == "torch":
        return None
    problem = why_not(run.plan.model, run.model)
    if problem is not None:
        if engine == "auto":
            return None
        raise UserError(f"--engine {engine}: {problem}")
    from regard.inference.ctranslate2.decoder import FastDecoder

    precision = "int8" if engine == "ctranslate2-int8" else "float32"
    try:
        return FastDecoder(run.model, run.plan.model, run.path, precision, threads, run.lexicon)
    except (OSError, RuntimeError) as error:
        if engine == "auto":
            return None
        why = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"{run.path}: no model for {engine} can be built there ({why}); take --engine torch") from None
