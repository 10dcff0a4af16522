"""regard: train a sequence-to-sequence model, look inside it and ship it.

model = regard.load("runs/dates")
result = model.translate("Saturday, August 15, 1992", beams=5)
result.attention("decoder.layers.0.cross_attention").save("map.svg")
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.analysis.maps import AttentionMap
    from regard.analysis.trace import Trace
    from regard.config import Settings
    from regard.errors import UserError
    from regard.experiment import train
    from regard.pipeline import Captioner, Classifier, Pipeline, Result, Tagger, TextGenerator, Translator, load

__all__ = [
    "AttentionMap",
    "Captioner",
    "Classifier",
    "Pipeline",
    "Result",
    "Settings",
    "Tagger",
    "TextGenerator",
    "Trace",
    "Translator",
    "UserError",
    "load",
    "train",
]

_ROOMS = {
    "AttentionMap": "regard.analysis.maps",
    "Settings": "regard.config",
    "Trace": "regard.analysis.trace",
    "UserError": "regard.errors",
    "train": "regard.experiment",
}


SPIN_COUNT = "1000"


def _set_spin_count() -> None:
    """Threads of libgomp that wait for one another spin 300,000 turns by default: where another program has the core,
    a step with two threads takes ten to twenty times as long as with one. 1,000 turns are as fast on idle cores.

    libgomp reads the variable when torch is loaded, so this module sets it first, unless the user has chosen.
    """
    chosen = {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys()
    if not chosen and "torch" not in sys.modules:
        os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT


_set_spin_count()


def __getattr__(name: str) -> Any:
    """Public names are loaded on first use: `import regard` loads no torch, and `regard --help` stays fast."""
    if name not in __all__:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    return getattr(import_module(_ROOMS.get(name, "regard.pipeline")), name)
