"""regard look, look tree, look ablation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from regard.cli.search import SearchFlags
from regard.config import SearchSettings
from regard.config.values import Natural
from regard.errors import UserError
from regard.files import check_writable
from regard.plotting import check_ending

if TYPE_CHECKING:
    from regard.analysis.overlay import Overlay
    from regard.analysis.trace import Trace
    from regard.analysis.view import TraceRecord
    from regard.pipeline import Pipeline

app = App(name="look", help_format="plaintext", usage="Usage: regard look [tree|ablation] RUN TEXT [OPTIONS]")


@app.default
def look(
    run: Path,
    text: str,
    /,
    *,
    target: str | None = None,
    attention: str | None = None,
    all: Annotated[bool, Parameter(negative="")] = False,
    out: Path | None = None,
    search: SearchFlags = SearchSettings(),  # noqa: B008
) -> int:
    """Draw what the model attends to for each token of its output, or of --target.

    Parameters
    ----------
    run
        A run directory.
    text
        The source; of a model of images, the file.
    target
        An output to force, instead of the one that search finds.
    attention
        Which map: an attention as decoder.layers.0.cross_attention, encoder.rollout or decoder.rollout over all
        layers, or a convolution's receptive field; without it the last attention to the source.
    all
        All maps instead of one: every layer and every head.
    out
        Save the map, every head apart, as .svg or .png; or all maps as one .html that works offline. Of an image: the
        image once for each word.
    """
    from regard.pipeline import Captioner, load

    _check_text(text)
    if all and attention is not None:
        raise UserError(f"--all draws every map and --attention {attention} one of them; give one of the two")
    _check_out(out)
    pipeline = load(run)
    _check_attention(pipeline, attention, all, out)
    if target is None:
        result = pipeline.translate_all([text], pipeline.search_with(search))[0]
        trace, heading = result.trace(), f"{text} → {result.text}\n"
    else:
        trace, heading = pipeline.trace(text, target), None
    if isinstance(pipeline, Captioner):
        return _draw_overlay(pipeline.overlay(text, trace, attention), heading, out)
    first = attention or trace.default_attention
    return _draw(trace, heading, first, all, out, pipeline.record(text, trace, first))


@app.command
def tree(
    run: Path,
    text: str,
    /,
    *,
    out: Path | None = None,
    search: SearchFlags = SearchSettings(),  # noqa: B008
) -> int:
    """Follow the beam search: the hypotheses of each step, which of them ended, and the path to the best one.

    Parameters
    ----------
    run
        A run directory of a translator or a captioner.
    text
        The source; of a model of images, the file.
    out
        Save the tree as .svg, .png or .html.
    """
    from regard.analysis.search import save_tree, tree_text
    from regard.pipeline import SourceToText, load, require

    _check_text(text)
    _check_out(out)
    pipeline = require(load(run), SourceToText, "a beam tree is of a translation or a caption")
    search = pipeline.search_with(search)
    beam_tree = pipeline.beam_tree(text, search)
    print(tree_text(beam_tree, pipeline.target_codec.decode))
    if out is not None:
        _saved(save_tree(out, beam_tree, pipeline.target_codec, f"{text}, {search.beams} beams"))
    return 0


@app.command
def ablation(
    run: Path,
    text: str,
    /,
    *heads: str,
    uniform: Annotated[list[str] | None, Parameter(negative="")] = None,
    permute: Annotated[list[str] | None, Parameter(negative="")] = None,
    force: Annotated[list[str] | None, Parameter(negative="")] = None,
    patch: Annotated[list[str] | None, Parameter(negative="")] = None,
    other: str | None = None,
    hide: Annotated[list[Natural] | None, Parameter(negative="")] = None,
    seed: int = 1,
    search: SearchFlags = SearchSettings(),  # noqa: B008
) -> int:
    """Compare the output with that of a changed model: attention silenced, made uniform, moved, or states patched.

    Both outputs are printed with their log-probability by both models.

    Parameters
    ----------
    run
        A run directory.
    text
        The source; of a model of images, the file.
    heads
        What is silenced: an attention, as decoder.layers.1.cross_attention, or one of its heads, as
        decoder.layers.1.cross_attention.2.
    uniform
        An attention or a head whose weights become equal; this and the following may be given several times.
    permute
        An attention or a head whose weights go to other keys, drawn by --seed.
    force
        An attention or a head, = and a place from 0: all its weight goes to the key there (decoder.attention=2).
    patch
        States of the encoder that are those of --other, as encoder.layers.0.states.
    other
        The text that patched states are taken from, as long in tokens as the source.
    hide
        A word of the source, counted from 0, that is left out.
    seed
        Of --permute.
    """
    from regard.pipeline import load
    from regard.pipeline.two_outputs import render, two_outputs

    _check_text(text)
    if not (heads or uniform or permute or force or patch or hide):
        raise UserError("nothing to silence: name an attention or a head, as decoder.layers.1.cross_attention.2")
    if bool(patch) != (other is not None):
        raise UserError("--patch names states and --other the text that they are taken from; give both")
    pipeline = load(run)
    changed = pipeline.changed(heads, uniform or (), hide or ())
    patched = dict.fromkeys(patch or (), other or "")
    changed = changed.moved(permute or (), seed, dict(map(_place, force or ())), patched)
    print(render(two_outputs(pipeline, changed, text, pipeline.search_with(search))))
    return 0


def _place(forced: str) -> tuple[str, int]:
    """decoder.attention=2 → its name and the place."""
    name, _, place = forced.partition("=")
    if not place.isdecimal():
        raise UserError(f"--force {forced}: write an attention, = and a place from 0, as decoder.attention=2")
    return name, int(place)


def _check_text(text: str) -> None:
    if not text.strip():
        raise UserError("the text is empty; give a source to look at")


def _check_out(out: Path | None) -> None:
    """A file that could not be saved is refused before anything is searched for."""
    if out is not None:
        check_writable(out)
        check_ending(out)


def _check_attention(pipeline: Pipeline, attention: str | None, all: bool, out: Path | None) -> None:
    """Refuse before anything is searched for or printed."""
    from regard.analysis.ablation import attention_heads
    from regard.pipeline import Captioner

    if all and isinstance(pipeline, Captioner) and (out is None or out.suffix != ".html"):
        raise UserError("--all: of an image one attention is drawn; choose it, or give --out x.html, which has all")
    if attention is None and not attention_heads(pipeline.run.model):
        raise UserError("this model has no attention to look at; `regard probe` reads its hidden states")


def _draw(trace: Trace, heading: str | None, attention: str, all: bool, out: Path | None, record: TraceRecord) -> int:
    attention_map = trace.attention(attention)
    if heading is not None:
        print(heading)
    for name in trace.maps if all else (attention,):
        shown = trace.attention(name)
        heads = f", mean of {shown.heads} heads" if shown.heads > 1 else ""
        print(f"{shown.name}{heads}\n\n{shown.text()}" + ("\n" if all else ""))
    others = [name for name in trace.maps if name != attention]
    if others and not all:
        print("\nothers: " + " ".join(others))
    if out is not None:
        picture = trace if all else attention_map
        _saved(record.save(out) if out.suffix == ".html" else picture.save(out))
    return 0


def _draw_overlay(overlay: Overlay, heading: str | None, out: Path | None) -> int:
    if heading is not None:
        print(heading)
    attention = overlay.names[overlay.first]
    print(f"{attention}\n\n{overlay.text()}")
    if len(overlay.names) > 1:
        print("\nothers: " + " ".join(name for name in overlay.names if name != attention))
    if out is not None:
        _saved(overlay.save(out))
    return 0


def _saved(path: Path) -> None:
    print(f"saved {path}", file=sys.stderr)
