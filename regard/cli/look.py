"""regard look."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from regard.cli.translate import chosen_search
from regard.config import SearchConfig
from regard.errors import UserError

if TYPE_CHECKING:
    from regard.analysis.overlay import Overlay
    from regard.pipeline import Pipeline


def look(
    run: Path,
    text: str,
    /,
    *,
    target: str | None = None,
    attention: str | None = None,
    out: Path | None = None,
    without: Annotated[list[str] | None, Parameter(negative="")] = None,
    tree: Annotated[bool, Parameter(negative="")] = False,
    search: Annotated[SearchConfig, Parameter(name="*")] = SearchConfig(),  # noqa: B008
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
        Which attention, for example decoder.layers.0.cross_attention; without it the last that looks at the source.
    out
        Save the map, every head apart, as .svg or .png; or all maps as one .html that works offline. Of a picture: the
        picture once for each word.
    without
        Silence an attention, or one of its heads: decoder.layers.1.cross_attention.2; may be given several times.
    tree
        Follow the beam search instead: what it kept at each step, what ended, and the way to the winner.
    """
    from regard.pipeline import Captioner, load
    from regard.pipeline.result import default_attention

    if not text.strip():
        raise UserError("the text is empty; give a source to look at")
    model = load(run)
    if without:
        return _ablate(model, text, without, search)
    if tree:
        return _follow(model, text, search)
    if target is None:
        result = model.translate_all([text], chosen_search(model, search))[0]
        print(f"{text} → {result.text}\n")
        seen = result.trace()
    else:
        seen = model.look(text, target)
    if isinstance(model, Captioner):
        return _overlay(model.overlay(text, seen, attention), out)
    found = seen.attention(attention or default_attention(seen))
    heads = f", mean of {found.heads} heads" if found.heads > 1 else ""
    print(f"{found.name}{heads}\n\n{found.text()}")
    if len(seen.attentions) > 1:
        print("\nothers: " + " ".join(name for name in seen.attentions if name != found.name))
    if out is not None:
        saved = seen.save(out, found.name) if out.suffix == ".html" else found.save(out)
        print(f"saved {saved}", file=sys.stderr)
    return 0


def _overlay(found: Overlay, out: Path | None) -> int:
    print(f"{found.names[found.first]}\n\n{found.text()}")
    if len(found.names) > 1:
        print("\nothers: " + " ".join(name for name in found.names if name != found.names[found.first]))
    if out is not None:
        print(f"saved {found.save(out)}", file=sys.stderr)
    return 0


def _ablate(model: Pipeline, text: str, names: list[str], given: SearchConfig) -> int:
    from regard.analysis.ablation import without
    from regard.nn.taps import watching

    search = chosen_search(model, given)
    whole = model.translate_all([text], search)[0]
    with watching(model.model, without(model.model, names), record=False):
        left = model.translate_all([text], search)[0]
    print(f"whole    {whole.log_prob:8.3f}  {whole.text}\nwithout  {left.log_prob:8.3f}  {left.text}")
    return 0


def _follow(model: Pipeline, text: str, given: SearchConfig) -> int:
    from regard.analysis.search import tree_text
    from regard.pipeline.writers import SourceWriter

    if not isinstance(model, SourceWriter):
        raise UserError("--tree follows a translation; this run does something else")
    search = chosen_search(model, given)
    if search.sample or search.beams < 2:
        raise UserError(f"--tree needs a beam to follow: beams = {search.beams}; give --beams 3")
    print(tree_text(model.beam_tree(text, search), model.target_tokenizer.decode))
    return 0
