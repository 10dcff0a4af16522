"""Xu 2015: captions by attention over the grid of an image, against one vector for all of it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, differences, margin, mean_range
from regard.apps.lessons.training import trained
from regard.config import Tree, merge
from regard.data.embedded.scene import Scene, parse
from regard.data.embedded.shapes import mentions
from regard.evaluation.pointing import in_box
from regard.plotting import COLOURS, Axis, Bar, bar_chart

ATTENTION, FIXED = "attention over the grid", "one vector"
MODELS: dict[str, Tree] = {
    ATTENTION: {"model": {"preset": "image-lstm"}},
    FIXED: {"model": {"preset": "image-fixed"}},
}


@dataclass(frozen=True)
class Captions:
    """In percent: captions right; words right, given the true ones before; nouns whose attention is on their object."""

    exact: float
    words: float
    pointing: float | None
    by_chance: float  # pointing, if the cell of the highest weight were random


def captioned(settings: Tree) -> Captions:
    """Train on drawn scenes; captions of unseen ones, greedy."""
    with trained(settings) as model:
        examples = model.run.examples("test")
        report = model.evaluate(examples, model.search_with(beams=1)).as_dict()
        cells = len(model.source_codec.encode(examples[0].source))
    chances = [chance(parse(example.source), example.target, cells) for example in examples]
    pointing = report["pointing"]["value"] if report.get("pointing") else None
    return Captions(report["exact"]["value"], report["forced"]["token_accuracy"], pointing, 100 * mean(chances))


def chance(scene: Scene, caption: str, cells: int) -> float:
    """The share of the grid that lies on an object, mean over those that the caption names."""
    return mean(
        sum(in_box(thing, cell, cells) for cell in range(cells)) / cells for thing, _ in mentions(scene, caption)
    )


def run(budget: Budget) -> Finding:
    steps = budget.pick(tiny=6, quick=700, full=5000)
    task: Tree = {
        "data": {
            "corpus": "shapes",
            "examples": budget.pick(tiny=60, quick=8000, full=30_000),
            "dev_examples": budget.pick(tiny=10, quick=100, full=500),
            "test_examples": budget.pick(tiny=10, quick=300, full=1000),
        },
        "model": {"width": budget.pick(tiny=16, quick=48, full=64)},
        "training": {
            "steps": steps,
            "batch_tokens": budget.pick(tiny=512, quick=2048, full=4096),
            "rate": 3e-3,
            "schedule": "cosine",
            "metric": "loss",
            "evaluate_every": max(steps // 4, 1),
        },
    }
    results = budget.compare("captioning", captioned, {name: merge(task, tree) for name, tree in MODELS.items()})
    exact, words = (
        {name: [getattr(result, what) for result in runs] for name, runs in results.items()}
        for what in ("exact", "words")
    )
    pointed = [result.pointing or 0.0 for result in results[ATTENTION]]
    by_chance = [result.by_chance for result in results[ATTENTION]]
    rows = [
        (
            name,
            mean_range(exact[name]),
            mean_range(words[name]),
            _pointing([result.pointing for result in runs]),
        )
        for name, runs in results.items()
    ]
    return Finding(
        experiment="A convolutional grid and an LSTM learn to describe drawn scenes of one to three shapes for "
        f"{steps:,} steps, once with attention over the grid, once with the grid's mean as the LSTM's first state. "
        "Unseen scenes; words right: given the true ones before; pointing: the highest "
        "weight lies on the object when its noun is generated.",
        tables=(Table(("model", "captions right, %", "words right, %", "pointing, %"), tuple(rows)),),
        figures=(_figure(words, pointed, by_chance),),
        verdicts=(
            margin("attention gets more words right", differences(words[ATTENTION], words[FIXED]), "points", 5),
            margin(
                "and points at the object that it names, above chance", differences(pointed, by_chance), "points", 30
            ),
        ),
        numbers={name: [vars(result) for result in runs] for name, runs in results.items()},
    )


def _pointing(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return mean_range(known) if known else "no attention"


def _figure(words: dict[str, list[float]], pointed: list[float], by_chance: list[float]) -> str:
    measured = {f"words right, {name}": values for name, values in words.items()}
    measured |= {"nouns that point at their object": pointed, "the same by chance": by_chance}
    entries = [
        Bar(name, mean(values), min(values), max(values), f"{mean(values):.1f}", COLOURS[index // 2])
        for index, (name, values) in enumerate(measured.items())
    ]
    return bar_chart("unseen scenes; whiskers: range over seeds", entries, Axis("percent", low=0, high=100))


LESSON = Lesson(
    name="captioning",
    claim="Attention over the grid of an image beats one vector for all of it, and points at the objects "
    "that the caption names.",
    after="Xu et al. 2015",
    run=run,
    formula="c_t = Σ_p softmax_p(score(h_p, s_(t-1))) h_p over the cells p of a grid",
    model=("an image", "convolutional grid", "one vector, or attention", "LSTM decoder", "a caption"),
)
