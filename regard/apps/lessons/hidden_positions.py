"""Haviv 2022: a causal Transformer without positional encoding knows positions: it sees how many tokens came before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from statistics import mean

from regard.analysis.probes import probe_positions
from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, margin, mean_range
from regard.apps.lessons.reverse_task import reverse_task
from regard.apps.lessons.training import trained
from regard.config import Tree, merge
from regard.plotting import COLOURS, Axis, Line, Panel, line_chart

NONE = "no positions"
KINDS = {NONE: "none", "learned": "learned", "sinusoidal": "sinusoidal", "ALiBi": "alibi"}


@dataclass(frozen=True)
class Probed:
    """How far a linear probe is off the true position, layer by layer from the lowest, mean over unseen texts."""

    trained: list[float]
    untrained: list[float]
    right: float  # letters that the model predicts right, in percent


def probed(settings: Tree, words: int) -> Probed:
    """Train a language model; probe each layer on unseen words, and the same model with random weights."""
    with trained(settings) as model:
        unseen = model.run.examples("dev")[:words]
        untrained = model.untrained(settings["training"]["seed"])
        known, guessed = (
            [pipeline.trace(example.source, example.target) for example in unseen] for pipeline in (model, untrained)
        )
        report = probe_positions(known, guessed)
        forced = model.teacher_forced(model.run.examples("test"))
    assert forced is not None
    distances = [(row.distance or 0.0, row.random_distance or 0.0) for row in report.rows]
    return Probed(
        [distance for distance, _ in distances],
        [random_distance for _, random_distance in distances],
        forced.token_accuracy,
    )


def constant_guess(length: int) -> float:
    """The mean distance of a constant guess, the middle, from the position."""
    return mean(abs(position - length // 2) for position in range(length))


def run(budget: Budget) -> Finding:
    steps, depth = budget.pick(tiny=4, quick=500, full=2000), budget.pick(tiny=1, quick=3, full=4)
    letters, words = budget.pick(tiny=4, quick=10, full=16), budget.pick(tiny=20, quick=120, full=400)
    settings: Tree = merge(
        reverse_task(budget, letters, steps),
        {
            "data": {"lengths": f"{letters}-{letters}"},
            "model": {"preset": "transformer-language", "depth": depth},
        },
    )
    jobs = {name: merge(settings, {"model": {"positions": kind}}) for name, kind in KINDS.items()}
    results = budget.compare("hidden-positions", partial(probed, words=words), jobs)
    length = letters + 1  # with the token between the word and its reverse
    blind = constant_guess(length)
    best = [min(result.trained) for result in results[NONE]]
    return Finding(
        experiment=f"Causal language models of {depth} layers learn to reverse words of {letters} random letters "
        f"for {steps:,} steps; a letter says nothing about its position. A linear probe then predicts the "
        f"position of the output (of {length}) from the states of each layer, on {words} unseen words, a fifth "
        "of them held out from the probe; how far it is off, on average.",
        tables=(_table(results, depth, blind),),
        figures=(_figure(results, depth, length, blind),),
        verdicts=(
            margin(
                "without positional encoding the best layer knows positions: off by less than half of a constant guess",
                [blind / 2 - off for off in best],
                "positions less",
            ),
            margin(
                "and has learned them: the same model with random weights is further off",
                [min(result.untrained) - off for result, off in zip(results[NONE], best, strict=True)],
                "positions",
                more_than=1,
            ),
        ),
        numbers={
            "constant guess": blind,
            "off by": {name: [result.trained for result in runs] for name, runs in results.items()},
            "off by, random weights": {name: [result.untrained for result in runs] for name, runs in results.items()},
            "letters right": {name: [result.right for result in runs] for name, runs in results.items()},
        },
    )


def _table(results: dict[str, list[Probed]], depth: int, blind: float) -> Table:
    rows = []
    for name, runs in results.items():
        for trained_too, label in ((True, name), (False, f"{name}, random weights")):
            layers = zip(*(result.trained if trained_too else result.untrained for result in runs), strict=True)
            right = mean_range([result.right for result in runs]) if trained_too else ""
            rows.append((label, *(mean_range(values, 2) for values in layers), right))
    rows.append(("always the middle", *[f"{blind:.2f}"] * depth, ""))
    titles = ("off by, in positions", *(f"layer {layer}" for layer in range(1, depth + 1)), "letters right, %")
    return Table(titles, tuple(rows))


def _figure(results: dict[str, list[Probed]], depth: int, length: int, blind: float) -> str:
    layers = range(1, depth + 1)

    def line(name: str, values: list[list[float]], colour: str, dashed: bool) -> Line:
        means = [mean(layer) for layer in zip(*values, strict=True)]
        return Line(
            name, [(float(layer), value) for layer, value in zip(layers, means, strict=True)], colour, dashed=dashed
        )

    lines = []
    for colour, (name, runs) in zip(COLOURS, results.items(), strict=False):
        lines.append(line(name, [result.trained for result in runs], colour, False))
        lines.append(line(name, [result.untrained for result in runs], colour, True))
    lines.append(Line("always the middle", [(1.0, blind), (float(depth), blind)], COLOURS[8]))
    title = f"distance in positions (of {length}), mean over seeds; dashed: random weights"
    return line_chart("", [Panel(title, lines, x=Axis("layer", low=0.8, high=depth + 0.2), y=Axis(low=0))])


LESSON = Lesson(
    name="hidden-positions",
    claim="A causal Transformer without positional encoding still knows positions.",
    after="Haviv, Ram, Press, Izsak & Levy 2022",
    run=run,
    formula="position = softmax(W h_i + b), by a linear probe",
    model=("letters", "embeddings, no positions", "causal self-attention", "states", "a linear probe: the position"),
)
