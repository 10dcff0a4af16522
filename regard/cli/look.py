"""regard look."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from regard.config import SearchSettings
from regard.errors import UserError
from regard.files import check_writable
from regard.plotting import check_ending

if TYPE_CHECKING:
    from regard.analysis.overlay import Overlay
    from regard.analysis.trace import Trace
    from regard.pipeline import Pipeline


def look(
    run: Path,
    text: str,
    /,
    *,
    target: str | None = None,
    attention: str | None = None,
    all: Annotated[bool, Parameter(negative="")] = False,
    out: Path | None = None,
    without: Annotated[list[str] | None, Parameter(negative="")] = None,
    tree: Annotated[bool, Parameter(negative="")] = False,
    search: Annotated[SearchSettings, Parameter(name="*")] = SearchSettings(),  # noqa: B008
) -> int:
    """Show what the model attended to while it wrote its output (or while it is told to write --target).

    Parameters
    ----------
    run
        A run directory.
    text
        The source; of a model of pictures, the file.
    target
        The output to look at, instead of the one that search finds.
    attention
        Which map: an attention as decoder.layers.0.cross_attention, encoder.rollout or decoder.rollout over all
        layers, or a convolution's receptive field; without it the last attention that looks at the source.
    all
        All maps instead of one: every layer and every head.
    out
        Save the map, every head apart, as .svg or .png; or all maps as one .html that works offline. Of a picture: the
        picture once for each word.
    without
        Silence an attention, or one of its heads: decoder.layers.1.cross_attention.2; may be given several times.
    tree
        Follow the beam search instead: what it kept at each step, what ended, and the way to the winner; --out as
        .svg, .png or .html.
    """
    from regard.pipeline import Captioner, load

    if not text.strip():
        raise UserError("the text is empty; give a source to look at")
    _refuse(target, attention, all, out, without, tree)
    model = load(run)
    if without:
        return _ablate(model, text, without, search)
    if tree:
        return _follow(model, text, search, out)
    _check(model, attention, all, out)
    if target is None:
        result = model.translate_all([text], model.search_with(search))[0]
        seen, heading = result.trace(), f"{text} → {result.text}\n"
    else:
        seen, heading = model.trace(text, target), None
    if isinstance(model, Captioner):
        return _overlay(model.overlay(text, seen, attention), heading, out)
    return _draw(seen, heading, attention, all, out)


def _refuse(
    target: str | None, attention: str | None, all: bool, out: Path | None, without: list[str] | None, tree: bool
) -> None:
    """Options of which one would silently win, and files that could not be written."""
    drawn = all or attention is not None or target is not None
    if without and (drawn or tree or out is not None):
        raise UserError("--without compares two outputs and draws nothing; give it alone")
    if tree and drawn:
        raise UserError("--tree follows the search and draws no attention; leave --attention, --all and --target out")
    if all and attention is not None:
        raise UserError(f"--all draws every map and --attention {attention} one of them; give one of the two")
    if out is not None:
        check_writable(out)


def _check(model: Pipeline, attention: str | None, all: bool, out: Path | None) -> None:
    """What will be refused in the end is refused before anything is searched for or printed."""
    from regard.analysis.ablation import attention_heads
    from regard.pipeline import Captioner

    if all and isinstance(model, Captioner) and (out is None or out.suffix != ".html"):
        raise UserError("--all: of a picture one attention is drawn; choose it, or give --out x.html, which has all")
    if attention is None and not attention_heads(model.model):
        raise UserError("this model has no attention to look at; `regard probe` reads its hidden states")
    if out is not None:
        check_ending(out)


def _draw(seen: Trace, heading: str | None, attention: str | None, all: bool, out: Path | None) -> int:
    from regard.pipeline.result import default_attention

    found = seen.attention(attention or default_attention(seen))
    if heading is not None:
        print(heading)
    for one in (seen.attention(name) for name in seen.maps) if all else (found,):
        heads = f", mean of {one.heads} heads" if one.heads > 1 else ""
        print(f"{one.name}{heads}\n\n{one.text()}" + ("\n" if all else ""))
    others = [name for name in seen.maps if name != found.name]
    if others and not all:
        print("\nothers: " + " ".join(others))
    if out is not None:
        saved = seen.save(out, found.name) if all or out.suffix == ".html" else found.save(out)
        print(f"saved {saved}", file=sys.stderr)
    return 0


def _overlay(found: Overlay, heading: str | None, out: Path | None) -> int:
    if heading is not None:
        print(heading)
    print(f"{found.names[found.first]}\n\n{found.text()}")
    if len(found.names) > 1:
        print("\nothers: " + " ".join(name for name in found.names if name != found.names[found.first]))
    if out is not None:
        print(f"saved {found.save(out)}", file=sys.stderr)
    return 0


def _ablate(model: Pipeline, text: str, names: list[str], given: SearchSettings) -> int:
    search = model.search_with(given)
    whole = model.translate_all([text], search)[0]
    left = model.without(*names).translate_all([text], search)[0]
    print(f"whole    {whole.log_prob:8.3f}  {whole.text}\nwithout  {left.log_prob:8.3f}  {left.text}")
    return 0


def _follow(model: Pipeline, text: str, given: SearchSettings, out: Path | None) -> int:
    from regard.analysis.search import save_tree, tree_text
    from regard.pipeline.text_model import SourceToText

    if not isinstance(model, SourceToText):
        raise UserError("--tree follows a translation; this run does something else")
    search = model.search_with(given)
    if out is not None:
        check_ending(out)
    found = model.beam_tree(text, search)
    print(tree_text(found, model.target_codec.decode))
    if out is not None:
        saved = save_tree(out, found, model.target_codec, f"{text}, {search.beams} beams")
        print(f"saved {saved}", file=sys.stderr)
    return 0
