"""The engine that runs a model in a browser: plain ES modules, one for each layer and family, and the page around it.

arrays.js parameters.js taps.js               numbers, weights by name, recorded attention
positions.js attention.js blocks.js           as in regard/nn
recurrent-cells.js pointer.js
transformer.js recurrent.js convolution.js    as in regard/models
vision.js model.js
tokenizer.js search.js view.js                text, greedy and beam search, records for the viewer
session.js page.js                            a model with its tokenizers; what a reader sees and types
"""

from __future__ import annotations

from importlib import resources

MODULES = (
    *("arrays.js", "taps.js", "parameters.js", "positions.js", "attention.js", "blocks.js", "recurrent-cells.js"),
    *("transformer.js", "recurrent.js", "convolution.js", "vision.js", "pointer.js", "model.js"),
    *("tokenizer.js", "search.js", "view.js", "session.js"),
)
PAGE, STYLE = "page.js", "page.css"


def asset(name: str) -> str:
    """A module or the style sheet, as it stands in this folder."""
    assert name in (*MODULES, PAGE, STYLE), name
    return (resources.files("regard.interop.browser") / name).read_text(encoding="utf-8")
