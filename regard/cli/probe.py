"""regard probe."""

from __future__ import annotations

import json as jsonlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from regard.cli.progress import progress_bar
from regard.errors import UserError

if TYPE_CHECKING:
    from regard.analysis.trace import Trace
    from regard.data.corpus import Example
    from regard.pipeline import Pipeline


def probe(
    run: Path,
    /,
    *,
    tags: Path | None = None,
    column: str = "upos",
    sentences: int = 300,
    seed: int = 1,
    out: Path | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """What one linear layer can read off the hidden states of each layer: positions, or tags from a file.

    Beside it: the most frequent class, a control task with random labels, and the same model with random weights.

    Parameters
    ----------
    run
        A run directory; positions are probed on its development examples.
    tags
        A file with word TAB tag lines and empty lines between sentences, or CoNLL-U.
    column
        Of CoNLL-U: upos, xpos, deprel, lemma, feats, head or form.
    sentences
        How many sentences to use.
    seed
        Of the random weights and the control task.
    out
        Save the plot by layer as .svg or .png (needs matplotlib).
    json
        The report as JSON.
    """
    from regard.analysis.probes import probe_positions, probe_tags, render
    from regard.pipeline import load

    model = load(run)
    untrained = model.untrained(seed)
    if tags is not None:
        from regard.data.corpus import Example
        from regard.data.tagged import read_tagged

        tagged = read_tagged(tags, column)[:sentences]
        pairs = [Example(one.text, result.text) for one, result in zip(tagged, _outputs(model, tagged), strict=True)]
        report = probe_tags(*_traces(model, untrained, pairs), tagged, seed)
    else:
        pairs = model.run.examples("dev")[:sentences]
        if len(pairs) < 10:
            raise UserError(f"{run} holds {len(pairs)} development examples; a probe needs 10 at least")
        report = probe_positions(*_traces(model, untrained, pairs), seed)
    print(jsonlib.dumps(report.as_dict(), indent=2) if json else render(report))
    if out is not None:
        from regard.analysis.plots import probe_plot

        print(f"saved {probe_plot(report, out)}", file=sys.stderr)
    return 0


def _outputs(model: Pipeline, tagged: list):
    return model.translate_all([one.text for one in tagged], model.search_with(beams=1, n_best=1))


def _traces(model: Pipeline, untrained: Pipeline, pairs: list[Example]) -> tuple[list[Trace], list[Trace]]:
    with progress_bar("tracing", 2 * len(pairs)) as progress:
        return model.look_all(pairs, progress), untrained.look_all(pairs, progress)
