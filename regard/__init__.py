"""regard: train a sequence-to-sequence model, look inside it and ship it.

model = regard.load("runs/dates")
result = model.translate("Saturday, August 15, 1992", beams=5)
result.attention("decoder.layers.0.cross_attention").save("map.svg")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.analysis.maps import AttentionMap
    from regard.analysis.trace import Trace
    from regard.config import Settings
    from regard.errors import UserError
    from regard.experiment import train
    from regard.pipeline import Captioner, Classifier, Pipeline, Result, TextGenerator, Translator, load

__all__ = [
    "AttentionMap",
    "Captioner",
    "Classifier",
    "Pipeline",
    "Result",
    "Settings",
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


def __getattr__(name: str) -> Any:
    """Public names come when they are asked for: `import regard` loads no torch, and `regard --help` stays quick."""
    if name not in __all__:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    return getattr(import_module(_ROOMS.get(name, "regard.pipeline")), name)
