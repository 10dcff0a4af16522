"""regard evaluate."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from regard.cli.progress import progress_bar
from regard.cli.search import SearchFlags
from regard.config import SearchSettings
from regard.config.values import Engine, Natural, Positive
from regard.errors import UserError

if TYPE_CHECKING:
    from regard.data.corpus import Example
    from regard.pipeline import Pipeline


def evaluate(
    run: Path,
    /,
    *,
    source: Path | None = None,
    reference: Path | None = None,
    split: Literal["test", "dev"] = "test",
    search: SearchFlags = SearchSettings(),  # noqa: B008
    ensemble: Annotated[list[Path] | None, Parameter(negative="")] = None,
    engine: Engine = "auto",
    tokenize: Literal["13a", "char", "intl", "none"] | None = None,
    threads: Positive | None = None,
    baselines: Annotated[bool, Parameter(negative="")] = False,
    errors: Natural = 0,
    alignments: str | None = None,
    glossary: Path | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    save: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Measure a model: BLEU, chrF, TER, exact match, accuracy by length; perplexity; or accuracy and confusions.

    Parameters
    ----------
    run
        A run directory; its own test examples are used unless files are given.
    source
        A file with one source a line.
    reference
        A file with one reference a line; alone for a language model.
    split
        Which of the run's own examples.
    ensemble
        Another run of an ensemble, as in `regard translate`; may be given several times.
    engine
        What decodes, as in `regard translate`: the score of int8 shows what its speed costs.
    tokenize
        How BLEU splits words (13a, or characters for scripts without spaces); none: the text is tokenised already.
    threads
        CPU threads.
    baselines
        Also what is reached without learning: the most frequent target, the source itself, the nearest training pair,
        word for word, each word's most frequent tag; of a language model, gzip and a 5-gram. Needs the run's corpus.
    errors
        List so many of the worst outputs, each with the kind of mistake (omission, repetition, number, order …).
    alignments
        Instead, the alignment error rate of every attention and head with the references forced: against a file in
        Pharaoh format (0-0 1-2, a line a sentence; 3?2 is possible, not sure), or against `corpus`, where a corpus
        knows its own (dates).
    glossary
        Instead, how often the terms of a glossary (TSV, TBX) appear without it and with it, and what it costs in chrF.
    json
        The report as JSON.
    save
        Store the report in the run, for the model card of its exports; of the run's own examples only.
    """
    from regard.evaluation import render
    from regard.pipeline import load

    if alignments is not None and (tokenize is not None or engine not in ("auto", "torch") or ensemble):
        raise UserError("--alignments is of one model's attention: no BLEU, no ensemble, no other engine")
    if save and (source is not None or reference is not None or ensemble or alignments is not None):
        raise UserError("--save stores the scores of one run on its own examples; leave out files, runs and alignments")
    if save and run.is_file():
        raise UserError(f"{run} is packed, and --save writes into a run; give the directory, and pack it again")
    pipeline = load(run, threads, engine=engine, ensemble=ensemble or ())
    examples = pipeline.examples(split, source, reference)
    if alignments is not None:
        return _evaluate_alignments(pipeline, examples, alignments, json)
    if glossary is not None:
        return _evaluate_glossary(pipeline, examples, glossary, pipeline.search_with(search), json)
    with progress_bar("evaluating", len(examples)) as progress:
        report = pipeline.evaluate(examples, pipeline.search_with(search), progress, tokenize, baselines, errors)
    if save:
        from regard.interop.model_card import write_evaluation

        write_evaluation(pipeline.run, split, report.as_dict())
    print(jsonlib.dumps(report.as_dict(), ensure_ascii=False, indent=2) if json else render(report))
    return 0


def _evaluate_glossary(
    pipeline: Pipeline, examples: list[Example], glossary: Path, search: SearchSettings, json: bool
) -> int:
    from regard.pipeline import Translator, require

    translator = require(pipeline, Translator, f"--glossary {glossary}: only translations have terms")
    with progress_bar("evaluating", 2 * len(examples)) as progress:
        report = translator.evaluate_glossary(examples, glossary, search, progress)
    print(jsonlib.dumps(report.as_dict(), indent=2) if json else report.render())
    return 0


def _evaluate_alignments(pipeline: Pipeline, examples: list[Example], gold: str, json: bool) -> int:
    from regard.analysis.alignment import render
    from regard.pipeline import Translator, require

    translator = require(pipeline, Translator, f"--alignments {gold}: only translations have alignments")
    with progress_bar("tracing", len(examples)) as progress:
        report = translator.evaluate_alignments(examples, gold, progress)
    print(jsonlib.dumps(report.as_dict(), indent=2) if json else render(report))
    return 0
