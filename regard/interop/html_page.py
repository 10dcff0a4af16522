"""One HTML file that holds a model: weights, tokenizers, an engine in JavaScript, the viewer and a model card.

It needs no network. Its tokenizers and its search are written anew in JavaScript, and tested to give what ours give.
"""

from __future__ import annotations

import base64
import json
from html import escape
from pathlib import Path
from typing import Any

from regard.analysis.overlay import data_uri
from regard.checkpoint import Run
from regard.data.image_codec import ImageCodec, read_view
from regard.data.images import Unreadable
from regard.errors import UserError
from regard.files import write_text
from regard.inference.ctranslate2.conversion import Precision
from regard.interop.browser import MODULES, PAGE, STYLE, asset
from regard.interop.browser_model import browser_model, unsuited
from regard.interop.model_card import model_card
from regard.plotting.viewer import MODULES as VIEWER
from regard.plotting.viewer import STYLE as VIEWER_STYLE
from regard.plotting.viewer import asset as viewer_asset
from regard.plotting.viewer import script

HTML_USAGE = "open it in a browser; it needs neither network nor server"
EXAMPLES = 5  # sources of the development set to begin with


def write_html(run: Run, place: Path, precision: Precision) -> None:
    """The page. What it cannot run is refused."""
    problem = unsuited(run)
    if problem is not None:
        raise UserError(f"{run.path}: {problem}; export such a model to another format")
    if place.suffix != ".html":
        raise UserError(f"--out {place}: give the page a name that ends in .html")
    write_text(place, html_page(run, precision))


def html_page(run: Run, precision: Precision) -> str:
    """The whole file."""
    model = browser_model(run, precision)
    facts = {**model.facts, "examples": _examples(run), "card": model_card(run, HTML_USAGE)}
    data = json.dumps(facts, ensure_ascii=False).replace("<", "\\u003c")  # a piece may be </script>
    modules = [*((name, viewer_asset(name)) for name in VIEWER), *((name, asset(name)) for name in (*MODULES, PAGE))]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>regard: {escape(run.path.resolve().name)}</title>\n"
        f"<style>\n{viewer_asset(VIEWER_STYLE)}{asset(STYLE)}</style></head>\n<body>\n"
        "<noscript>This page runs a model in the browser, which needs JavaScript.</noscript>\n"
        f'<script type="application/json" id="facts">{data}</script>\n'
        f'<script type="text/plain" id="weights">{base64.b64encode(model.weights).decode()}</script>\n'
        f'<script type="module">\n{script(modules)}</script>\n</body></html>\n'
    )


def _examples(run: Run) -> list[Any]:
    """Texts, or images as the model reads them, pixel by pixel."""
    sources = [example.source or example.target[:40] for example in run.examples("dev")[:EXAMPLES]]
    codec = run.source_codec
    if not isinstance(codec, ImageCodec):
        return sources
    images = []
    for source in sources:
        pixels, word = read_view(source, codec.image_size), codec.word(source)
        if not isinstance(pixels, Unreadable) and not isinstance(word, Unreadable):
            images.append({"uri": data_uri(pixels), "word": word})
    return images
