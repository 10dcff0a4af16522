"""Attention finds which field of a date each field of its translation comes from, where the order differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import mean

import torch

from regard.analysis.alignment import Gold, Link, alignment_error_rate
from regard.analysis.maps import AttentionMap
from regard.analysis.trace import Trace
from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, margin, mean_range
from regard.apps.lessons.training import trained
from regard.config import DataSettings, Tree, merge
from regard.data.embedded.dates import Piece, WrittenDate, written_dates
from regard.pipeline import Pipeline
from regard.plotting import COLOURS, Axis, Bar, bar_chart

PAIRS = ("en-fr", "en-ja")
MODELS: dict[str, Tree] = {
    "LSTM, additive attention": {"preset": "lstm-additive"},
    "Transformer": {"preset": "transformer", "depth": 2},
}
DRAWN = "medium with weekday"  # the format of the example in the figure: Sat, Aug 15, 1992

Linker = Callable[[WrittenDate], frozenset[Link]]


@dataclass(frozen=True)
class Alignment:
    """The result of one training. Error rates in percent."""

    attention: str  # the attention and head that aligned the development set best
    error: float
    untrained: float  # the same head with random weights
    diagonal: float
    uniform: float
    exact: float  # of the translations
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    weights: list[list[float]]


def fields(pieces: tuple[Piece, ...]) -> list[Piece]:
    return [piece for piece in pieces if piece.kind != "text"]


def gold(date: WrittenDate) -> Gold:
    """Year with year, month with month: fields of the source and of the target, counted from 0. All links are sure."""
    links = frozenset(
        (source, target)
        for source, source_piece in enumerate(fields(date.source))
        for target, target_piece in enumerate(fields(date.target))
        if source_piece.kind == target_piece.kind
    )
    return Gold(links, links)


def field_characters(pieces: tuple[Piece, ...], with_text: bool) -> list[list[int]]:
    """The characters of each field; `with_text`: and of the text between it and the next, such as a comma."""
    groups: list[list[int]] = []
    start = 0
    for piece in pieces:
        characters = list(range(start, start + len(piece.text)))
        start += len(piece.text)
        if piece.kind != "text":
            groups.append(characters)
        elif with_text and groups:
            groups[-1] += characters
    return groups


def links(attention: AttentionMap, head: int, date: WrittenDate) -> frozenset[Link]:
    """Each target field with the source field of the greatest weight, in a model of characters."""
    weights = attention.weights[head]
    summed = torch.stack([weights[:, group].sum(-1) for group in field_characters(date.source, True)], dim=-1)
    return frozenset(
        (int(summed[group].mean(0).argmax()), target)
        for target, group in enumerate(field_characters(date.target, False))
    )


def diagonal(date: WrittenDate) -> frozenset[Link]:
    """A baseline without a model: the field at the same relative position."""
    sources, targets = len(fields(date.source)), len(fields(date.target))
    return frozenset((target * sources // targets, target) for target in range(targets))


def error_rate(dates: Sequence[WrittenDate], linker: Linker) -> float:
    """AER in %; every target field has one link and one true one, so it is the share of wrong ones."""
    return 100 * alignment_error_rate(map(linker, dates), map(gold, dates))


def aligned(settings: Tree) -> Alignment:
    """Train; choose the attention and head by the development set; measure on the test set."""
    dates = written_dates(DataSettings.model_validate({**settings["data"], "examples": 1}))
    with trained(settings) as model:
        dev, test, random_test = (
            _traces(pipeline, dates[split])
            for pipeline, split in ((model, "dev"), (model, "test"), (model.untrained(1), "test"))
        )
        exact = model.evaluate(model.run.examples("test"), model.search_with(beams=1)).as_dict()["exact"]["value"]

    def error(traces: dict[WrittenDate, Trace], name: str, head: int) -> float:
        return error_rate(list(traces), lambda date: links(traces[date].attention(name), head, date))

    trace = next(iter(dev.values()))
    cross_attentions = [
        name for name in trace.attentions if not name.startswith("encoder.") and "self_attention" not in name
    ]
    heads = [(name, head) for name in cross_attentions for head in range(trace.attention(name).heads)]
    name, head = min(heads, key=lambda candidate: error(dev, *candidate))
    drawn = next((date for date in test if date.format == DRAWN), next(iter(test)))
    example = test[drawn].attention(name).head(head)
    return Alignment(
        attention=f"{name}.{head}" if trace.attention(name).heads > 1 else name,
        error=error(test, name, head),
        untrained=error(random_test, name, head),
        diagonal=error_rate(list(test), diagonal),
        uniform=100 * mean(1 - 1 / len(fields(date.source)) for date in test),
        exact=exact,
        rows=example.rows,
        columns=example.columns,
        weights=example.weights[0].tolist(),
    )


def _traces(model: Pipeline, dates: Sequence[WrittenDate]) -> dict[WrittenDate, Trace]:
    pairs = {date: date.example() for date in dates}
    return {date: model.trace(pair.source, pair.target) for date, pair in pairs.items()}


def run(budget: Budget) -> Finding:
    steps, held_out = budget.pick(tiny=10, quick=500, full=2000), budget.pick(tiny=10, quick=100, full=500)
    settings: Tree = {
        "data": {
            "corpus": "dates",
            "examples": budget.pick(tiny=200, quick=10_000, full=30_000),
            "dev_examples": held_out,
            "test_examples": held_out,
        },
        "tokenizer": {"kind": "character"},
        "model": {"width": budget.pick(tiny=16, quick=64, full=128), "dropout": 0.0},
        "training": {
            "steps": steps,
            "batch_tokens": budget.pick(tiny=256, quick=1024, full=1024),
            "rate": budget.pick(tiny=4e-3, quick=4e-3, full=2e-3),
            "schedule": "cosine",
            "metric": "loss",
            "evaluate_every": max(steps // 4, 1),
        },
    }
    jobs = {
        f"{pair}, {name}": merge(settings, {"data": {"pair": pair}, "model": tree})
        for pair in PAIRS
        for name, tree in MODELS.items()
    }
    results = budget.compare("alignment", aligned, jobs)
    verdicts = [
        margin(
            f"{name}: attention errs less than the diagonal",
            [result.diagonal - result.error for result in runs],
            "points of alignment error rate",
            more_than=10,
        )
        for name, runs in results.items()
    ]
    return Finding(
        experiment=f"Models of characters learn for {steps:,} steps to translate English dates to French and to "
        "Japanese. With the true translation of an unseen date as the target, each of its fields (year, month, "
        "day, weekday) is linked to the field of the source with the most weight; the head is the best on "
        f"{held_out} dates of the development set, the error rate is that on {held_out} of the test set.",
        tables=(_table(results),),
        figures=(_bars(results), *(_map(name, runs[0]) for name, runs in results.items())),
        verdicts=tuple(verdicts),
        numbers={name: [asdict(result) for result in runs] for name, runs in results.items()},
    )


def _table(results: dict[str, list[Alignment]]) -> Table:
    rows = [
        (
            name,
            *(
                mean_range([getattr(result, field) for result in runs])
                for field in ("error", "untrained", "diagonal", "uniform", "exact")
            ),
            " ".join(sorted({result.attention.removeprefix("decoder.") for result in runs})),
        )
        for name, runs in results.items()
    ]
    titles = (
        "alignment error rate, %",
        "attention",
        "random weights",
        "diagonal",
        "any field",
        "exact match, %",
        "head",
    )
    return Table(titles, tuple(rows))


def _bars(results: dict[str, list[Alignment]]) -> str:
    entries = []
    for pair in PAIRS:
        for index, name in enumerate(MODELS):
            errors = [result.error for result in results[f"{pair}, {name}"]]
            entries.append(Bar(f"{pair}, {name}", mean(errors), min(errors), max(errors), colour=COLOURS[index]))
        guess = results[f"{pair}, {next(iter(MODELS))}"][0]
        entries.append(Bar(f"{pair}, the diagonal", guess.diagonal, colour=COLOURS[8]))
        entries.append(Bar(f"{pair}, any field", guess.uniform, colour=COLOURS[8]))
    return bar_chart("alignment error rate on unseen dates; 0 is perfect", entries, Axis("%", low=0, high=100))


def _map(name: str, result: Alignment) -> str:
    """The example's map, by the first seed."""
    return AttentionMap(
        f"{name}: {result.attention}", torch.tensor([result.weights]), result.rows, result.columns
    ).svg()


LESSON = Lesson(
    name="alignment",
    claim="Attention finds word order that differs between languages.",
    after="Bahdanau, Cho & Bengio 2015, figure 3",
    run=run,
    formula="weights_t = softmax(score(h_i, s_(t-1)))     aligned(t) = argmax_i weights_t,i",
    model=("date in one language", "LSTM, both ways", "attention", "LSTM decoder", "date in another"),
)
