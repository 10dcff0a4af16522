"""regard probe."""

from __future__ import annotations

import json as jsonlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from regard.cli.progress import progress_bar
from regard.config.settings import Positive
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
    sentences: Positive = 300,
    seed: int = 1,
    heads: Annotated[bool, Parameter(negative="")] = False,
    roles: Annotated[bool, Parameter(negative="")] = False,
    out: Path | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """What one linear layer can read off the hidden states of each layer: positions, or tags from a file.

    Beside it: the most frequent class, a control task with random labels, and the same model with random weights.
    Instead, --heads ranks the heads by what is lost without them, and --roles tells what each of them looks at.

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
    heads
        Silence each attention and each head in turn: the loss, tokens and sentences right without it, worst first.
    roles
        The share of each head's attention on the previous token, the next, itself, the first, the end, the same word,
        the antecedent of a pronoun (stories), the aligned source word (dates), each beside chance.
    out
        Save the plot by layer as .svg, .png (needs the extra [plot]) or .html.
    json
        The report as JSON.
    """
    from regard.pipeline import load

    model = load(run)
    if heads or roles:
        if (heads and roles) or tags is not None or out is not None:
            raise UserError("--heads, --roles and --tags ask different things, and only probes have a plot; give one")
        print((_sweep if heads else _roles)(model, model.run.examples("dev")[:sentences], json))
        return 0
    from regard.analysis.probes import render

    report = _probe(model, tags, column, sentences, seed)
    print(jsonlib.dumps(report.as_dict(), indent=2) if json else render(report))
    if out is not None:
        from regard.analysis.probe_chart import probe_chart
        from regard.plotting import save_picture

        print(f"saved {save_picture(out, probe_chart(report))}", file=sys.stderr)
    return 0


def _probe(model: Pipeline, tags: Path | None, column: str, sentences: int, seed: int):
    from regard.analysis.probes import probe_positions, probe_tags
    from regard.data.corpus import Example
    from regard.data.tagged import read_tagged

    untrained = model.untrained(seed)
    if tags is not None:
        tagged = read_tagged(tags, column)[:sentences]
        pairs = [Example(one.text, result.text) for one, result in zip(tagged, _outputs(model, tagged), strict=True)]
        return probe_tags(*_traces(model, untrained, pairs), tagged, seed)
    pairs = model.run.examples("dev")[:sentences]
    if len(pairs) < 10:
        raise UserError(f"{model.run.path} holds {len(pairs)} development examples; a probe needs 10 at least")
    return probe_positions(*_traces(model, untrained, pairs), seed)


def _sweep(model: Pipeline, examples: list[Example], as_json: bool) -> str:
    from regard.analysis.sweep import render, silenced_parts, sweep

    batches = model.batches(examples)
    if batches is None:
        raise UserError("a development example is longer than the positions of the model; lower --sentences")
    with progress_bar("silencing", len(silenced_parts(model.model))) as progress:
        report = sweep(model.model, batches, progress)
    return jsonlib.dumps(report.as_dict(), indent=2) if as_json else render(report)


def _roles(model: Pipeline, examples: list[Example], as_json: bool) -> str:
    from regard.analysis.roles import known_tokens, measure_roles, render
    from regard.data.embedded.truth import Truth, truths

    if model.run.source_codec.kind == "images":
        raise UserError(
            "--roles measures looks at words, and this run reads pictures; regard evaluate measures pointing"
        )
    truth = truths(model.run.config.data)
    source, target = model.run.source_codec.offsets, model.run.target_codec.offsets
    known = [known_tokens(truth.get(one, Truth()), source(one.source), target(one.target)) for one in examples]
    with progress_bar("tracing", len(examples)) as progress:
        report = measure_roles(model.trace_all(examples, progress), known)
    return jsonlib.dumps(report.as_dict(), indent=2) if as_json else render(report)


def _outputs(model: Pipeline, tagged: list):
    return model.translate_all([one.text for one in tagged], model.search_with(beams=1, n_best=1))


def _traces(model: Pipeline, untrained: Pipeline, pairs: list[Example]) -> tuple[list[Trace], list[Trace]]:
    with progress_bar("tracing", 2 * len(pairs)) as progress:
        return model.trace_all(pairs, progress), untrained.trace_all(pairs, progress)
