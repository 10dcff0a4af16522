"""regard evaluate."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from regard.cli.progress import progress_bar
from regard.cli.translate import chosen_search
from regard.config import SearchConfig
from regard.config.settings import Engine, Positive
from regard.errors import UserError

if TYPE_CHECKING:
    from regard.data.corpus import Example
    from regard.evaluation import Report
    from regard.pipeline import Pipeline


def evaluate(
    run: Path,
    /,
    *,
    source: Path | None = None,
    reference: Path | None = None,
    split: Literal["test", "dev"] = "test",
    search: Annotated[SearchConfig, Parameter(name="*")] = SearchConfig(),  # noqa: B008
    ensemble: Annotated[list[Path] | None, Parameter(negative="")] = None,
    engine: Engine = "torch",
    tokenize: Literal["13a", "char", "intl", "none"] | None = None,
    threads: Positive | None = None,
    baselines: Annotated[bool, Parameter(negative="")] = False,
    alignments: str | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
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
        Another run that writes together with this one, as of `regard translate`; once for each.
    engine
        What decodes, as of `regard translate`: a score of int8 shows what its speed costs.
    tokenize
        How BLEU parts words: none for text that is tokenised by spaces already, as papers on Multi30k report it;
        without it 13a, or characters where a script parts no words.
    threads
        CPU threads.
    baselines
        A language model: also what gzip and a 5-gram need for a character, trained on the run's corpus.
    alignments
        Instead, the alignment error rate of every attention and head while the references are written: against a file
        in Pharaoh format (0-0 1-2, a line a sentence; 3?2 is possible, not sure), or against `corpus`, where a corpus
        knows its own (dates).
    json
        The report as JSON.
    """
    from regard.evaluation import render
    from regard.pipeline import load

    model = load(run, threads, engine=engine, ensemble=ensemble or ())
    examples = _examples(model, source, reference, split)
    if alignments is not None:
        if tokenize is not None or engine != "torch" or ensemble:
            raise UserError("--alignments looks at attention: no BLEU, no ensemble, no other engine; leave them out")
        return _align(model, examples, alignments, json)
    report = _measure(model, examples, search, tokenize)
    if baselines:
        report = _with_baselines(model, report, examples)
    print(jsonlib.dumps(report.as_dict(), ensure_ascii=False, indent=2) if json else render(report))
    return 0


def _measure(model: Pipeline, examples: list[Example], given: SearchConfig, tokenize: str | None) -> Report:
    from regard.pipeline.generators import SourceWriter

    search = chosen_search(model, given)
    if tokenize is not None and not isinstance(model, SourceWriter):
        raise UserError(f"--tokenize {tokenize}: this run is for {model.run.task}, which BLEU does not measure")
    with progress_bar("evaluating", len(examples)) as progress:
        if isinstance(model, SourceWriter):
            return model.evaluate(examples, search, progress, tokenize)
        return model.evaluate(examples, search, progress)


def _examples(model: Pipeline, source: Path | None, reference: Path | None, split: Literal["test", "dev"]):
    from regard.data.corpus import Example
    from regard.data.files import read_lines

    if source is None and reference is None:
        examples = model.run.examples(split)
        if not examples:
            raise UserError(f"{model.run.path} holds no {split} examples; give --source and --reference")
        return examples
    if reference is None:
        raise UserError(f"--source {source} needs --reference, its true translations")
    if source is None and model.run.task != "continuation":
        raise UserError(f"--reference {reference} needs --source, the texts to translate")
    references = list(read_lines(reference))
    sources = list(read_lines(source)) if source is not None else [""] * len(references)
    if len(sources) != len(references):
        raise UserError(
            f"{source} has {len(sources)} lines and {reference} has {len(references)}; they must be parallel"
        )
    if not references:
        raise UserError(f"{reference} is empty: there is nothing to evaluate")
    return [Example(*pair) for pair in zip(sources, references, strict=True)]


def _align(model: Pipeline, examples: list[Example], given: str, as_json: bool) -> int:
    from regard.analysis.alignment import measure_alignments, render

    if model.run.task != "translation":
        raise UserError(f"--alignments {given}: this run is for {model.run.task}; only translations have alignments")
    gold = _gold(model, examples, given)
    with progress_bar("tracing", len(examples)) as progress:
        report = measure_alignments(model.look_all(examples, progress), gold, examples)
    print(jsonlib.dumps(report.as_dict(), indent=2) if as_json else render(report))
    return 0


def _gold(model: Pipeline, examples: list[Example], given: str):
    from regard.analysis.alignment import check_links, read_pharaoh, true_links
    from regard.data.embedded.truth import truths

    if given != "corpus":
        gold = read_pharaoh(given)
        if len(gold) != len(examples):
            raise UserError(f"{given} has {len(gold)} lines for {len(examples)} sentences; they must be parallel")
        check_links(gold, examples, given)
        return gold
    known = truths(model.run.config.data)
    unknown = next((one for one in examples if one not in known or not known[one].aligned), None)
    if unknown is not None:
        why = f"{unknown.source!r} is not of its dev or test set" if known else "only dates has true alignments"
        raise UserError(f"--alignments corpus: {why}; give a file in Pharaoh format")
    return [true_links(one, known[one]) for one in examples]


def _with_baselines(model: Pipeline, report, examples: list[Example]):
    from dataclasses import replace

    from regard.data.corpus import load_corpus
    from regard.evaluation import LanguageReport, baselines

    if not isinstance(report, LanguageReport):
        raise UserError("--baselines compares language models; this run is something else")
    train = [example.target for example in load_corpus(model.run.config.data).train]
    return replace(report, baselines=baselines(train, [example.target for example in examples]))
