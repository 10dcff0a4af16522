"""Haviv 2022: a causal Transformer that is told no positions still knows them, for it sees how much came before."""

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
    right: float  # letters that the model writes right, in percent


def probed(settings: Tree, words: int) -> Probed:
    """Train a language model; probe each layer on unseen words, and the same model with random weights."""
    with trained(settings) as model:
        unseen = model.run.examples("dev")[:words]
        untrained = model.untrained(settings["training"]["seed"])
        known, guessed = ([each.trace(one.source, one.target) for one in unseen] for each in (model, untrained))
        report = probe_positions(known, guessed)
        forced = model.teacher_forced(model.run.examples("test"))
    assert forced is not None
    distances = [(row.distance or 0.0, row.random_distance or 0.0) for row in report.rows]
    return Probed([own for own, _ in distances], [other for _, other in distances], forced.token_accuracy)


def constant_guess(length: int) -> float:
    """How far off the middle is on average, for who knows nothing of the position."""
    return mean(abs(place - length // 2) for place in range(length))


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
    found = budget.compare("hidden-positions", partial(probed, words=words), jobs)
    length = letters + 1  # with the mark that parts the word from its reverse
    blind = constant_guess(length)
    best = [min(one.trained) for one in found[NONE]]
    return Finding(
        experiment=f"Causal language models of {depth} layers read words of {letters} random letters and write them "
        f"back to front, for {steps:,} steps; a letter tells nothing of its place. A linear probe then reads the "
        f"place of what is being written (of {length}) off the states of each layer, on {words} unseen words, a fifth "
        "of them held out from the probe; how far it is off, on average.",
        tables=(_table(found, depth, blind),),
        figures=(_figure(found, depth, length, blind),),
        verdicts=(
            margin(
                "without positions the best layer knows them: it is off by less than half of a constant guess",
                [blind / 2 - off for off in best],
                "positions less",
            ),
            margin(
                "and has learned to: the same model with random weights is further off",
                [min(one.untrained) - off for one, off in zip(found[NONE], best, strict=True)],
                "positions",
                more_than=1,
            ),
        ),
        numbers={
            "constant guess": blind,
            "off by": {name: [one.trained for one in each] for name, each in found.items()},
            "off by, random weights": {name: [one.untrained for one in each] for name, each in found.items()},
            "letters right": {name: [one.right for one in each] for name, each in found.items()},
        },
    )


def _table(found: dict[str, list[Probed]], depth: int, blind: float) -> Table:
    rows = []
    for name, each in found.items():
        for trained_too, label in ((True, name), (False, f"{name}, random weights")):
            layers = zip(*(one.trained if trained_too else one.untrained for one in each), strict=True)
            right = mean_range([one.right for one in each]) if trained_too else ""
            rows.append((label, *(mean_range(values, 2) for values in layers), right))
    rows.append(("always the middle", *[f"{blind:.2f}"] * depth, ""))
    titles = ("off by, in positions", *(f"layer {layer}" for layer in range(1, depth + 1)), "letters right, %")
    return Table(titles, tuple(rows))


def _figure(found: dict[str, list[Probed]], depth: int, length: int, blind: float) -> str:
    layers = range(1, depth + 1)

    def line(name: str, values: list[list[float]], colour: str, dashed: bool) -> Line:
        means = [mean(layer) for layer in zip(*values, strict=True)]
        return Line(
            name, [(float(layer), value) for layer, value in zip(layers, means, strict=True)], colour, dashed=dashed
        )

    lines = []
    for colour, (name, each) in zip(COLOURS, found.items(), strict=False):
        lines.append(line(name, [one.trained for one in each], colour, False))
        lines.append(line(name, [one.untrained for one in each], colour, True))
    lines.append(Line("always the middle", [(1.0, blind), (float(depth), blind)], COLOURS[8]))
    title = f"off by so many of {length} positions, mean over seeds; dashed: random weights"
    return line_chart("", [Panel(title, lines, x=Axis("layer", low=0.8, high=depth + 0.2), y=Axis(low=0))])


LESSON = Lesson(
    name="hidden-positions",
    claim="A causal Transformer without positional encoding still knows positions.",
    after="Haviv, Ram, Press, Izsak & Levy 2022",
    run=run,
)
