"""regard probe, probe ablation, probe roles."""

from __future__ import annotations

import json as jsonlib
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from regard.cli.progress import progress_bar
from regard.config.values import Positive

app = App(name="probe", help_format="plaintext", usage="Usage: regard probe [ablation|roles] RUN [OPTIONS]")
Json = Annotated[bool, Parameter(name="--json", negative="")]


@app.default
def probe(
    run: Path,
    /,
    *,
    tags: Path | None = None,
    column: str = "upos",
    sentences: Positive = 300,
    seed: int = 1,
    out: Path | None = None,
    json: Json = False,
) -> int:
    """Predict positions, or tags from a file, from the hidden states of each layer by one linear layer.

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
        Save the plot by layer as .svg, .png (needs the extra [plot]) or .html.
    json
        The report as JSON.
    """
    from regard.analysis.probes import render
    from regard.pipeline import load
    from regard.pipeline.probing import probe as probe_states
    from regard.pipeline.probing import probe_data

    pipeline = load(run)
    data = probe_data(pipeline, tags, column, sentences)
    with progress_bar("tracing", 2 * len(data.examples)) as progress:
        report = probe_states(pipeline, data, seed, progress)
    print(jsonlib.dumps(report.as_dict(), indent=2) if json else render(report))
    if out is not None:
        from regard.analysis.probe_chart import probe_chart
        from regard.plotting import save_picture

        print(f"saved {save_picture(out, probe_chart(report))}", file=sys.stderr)
    return 0


@app.command
def ablation(run: Path, /, *, sentences: Positive = 300, json: Json = False) -> int:
    """Silence each attention and each head in turn: the loss, tokens and sentences right without it, worst first.

    Parameters
    ----------
    run
        A run directory; its development examples are used.
    sentences
        How many examples to use.
    json
        The report as JSON.
    """
    from regard.analysis.head_ablation import ablated_parts, render
    from regard.pipeline import load
    from regard.pipeline.probing import head_ablation

    pipeline = load(run)
    with progress_bar("silencing", len(ablated_parts(pipeline.run.model))) as progress:
        report = head_ablation(pipeline, pipeline.run.examples("dev")[:sentences], progress)
    print(jsonlib.dumps(report.as_dict(), indent=2) if json else render(report))
    return 0


@app.command
def roles(run: Path, /, *, tags: Path | None = None, sentences: Positive = 300, json: Json = False) -> int:
    """Measure what each head attends to: the previous token, the next, itself, the first, the end, the same word.

    Also the antecedent of a pronoun (stories), the aligned source word (dates, grammars), the syntactic head (--tags);
    each beside chance.

    Parameters
    ----------
    run
        A run directory; its development examples are used.
    tags
        A CoNLL-U file, whose sentences are used instead: each word and the word that it depends on.
    sentences
        How many examples to use.
    json
        The report as JSON.
    """
    from regard.analysis.roles import render
    from regard.pipeline import load
    from regard.pipeline.probing import head_roles, syntactic_heads

    pipeline = load(run)
    known = None if tags is None else syntactic_heads(pipeline, tags, sentences)
    examples = pipeline.run.examples("dev")[:sentences] if known is None else list(known)
    with progress_bar("tracing", len(examples)) as progress:
        report = head_roles(pipeline, examples, progress, known)
    print(jsonlib.dumps(report.as_dict(), indent=2) if json else render(report))
    return 0
