"""Vaswani 2017, 3.5: attention ignores order; learned or fixed positional encodings give it, combined in three ways."""

from __future__ import annotations

from typing import Any

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, differences, margin, mean_range
from regard.apps.lessons.reverse_task import reverse_task
from regard.apps.lessons.training import greedy_report, trained
from regard.config import Tree, merge
from regard.plotting import COLOURS, Axis, Line, Panel, line_chart

NONE, KINDS, WAYS = (
    "none",
    ("learned", "sinusoidal"),
    {"added": "add", "multiplied": "multiply", "concatenated": "concatenate"},
)
POSITIONED = {f"{kind}, {way}": (kind, combine) for kind in KINDS for way, combine in WAYS.items()}
MODELS: dict[str, Tree] = {
    NONE: {"positions": "none"},
    **{name: {"positions": kind, "position_combine": combine} for name, (kind, combine) in POSITIONED.items()},
}


def ordered(settings: Tree) -> dict[str, Any]:
    """Train; unseen words exactly right in %, greedy, of all and by length; letters right after true ones."""
    with trained(settings) as pipeline:
        report = greedy_report(pipeline)
        parameters = pipeline.run.facts["parameters"]
    lengths = [((bucket["shortest"] + bucket["longest"]) / 2, bucket["exact"]) for bucket in report["by_length"]]
    whole, tokens = report["exact"]["value"], report["forced"]["token_accuracy"]
    return {"exact": whole, "tokens": tokens, "by length": lengths, "parameters": parameters}


def run(budget: Budget) -> Finding:
    longest = budget.pick(tiny=4, quick=8, full=20)
    steps = budget.pick(tiny=10, quick=500, full=4000)
    transformer: Tree = {"model": {"preset": "transformer", "depth": 2, "max_positions": 64}}
    task = merge(reverse_task(budget, longest, steps), transformer)
    width = task["model"]["width"]
    trials = {name: merge(task, {"model": fields}) for name, fields in MODELS.items()}
    answers = budget.compare("positions", ordered, trials)
    exact = {name: [answer["exact"] for answer in runs] for name, runs in answers.items()}
    verdicts = [
        margin(f"{name}: above no positions", differences(exact[name], exact[NONE]), "points", more_than=20)
        for name in POSITIONED
    ]
    apart = differences(exact["sinusoidal, added"], exact["learned, added"])
    verdicts.append(
        margin(
            "added, fixed and learned positions end within 10 points", [10 - abs(answer) for answer in apart], "points"
        )
    )
    rows = [
        (
            name,
            mean_range(exact[name]),
            mean_range([answer["tokens"] for answer in runs]),
            f"{runs[0]['parameters']:,}",
        )
        for name, runs in answers.items()
    ]
    numbers = ("words, %", "letters, given those before, %", "parameters")
    return Finding(
        experiment=f"A Transformer of 2 layers, {width} wide, learns for {steps:,} steps to write words of 1 to "
        f"{longest} letters back to front, with positions of each kind combined with the embeddings in each way; "
        "exact match on unseen words.",
        tables=(Table(("positions", *numbers), tuple(rows)),),
        figures=(_figure(answers),),
        verdicts=tuple(verdicts),
        numbers={"words": answers},
    )


def _figure(answers: dict[str, list[dict[str, Any]]]) -> str:
    """A panel for each kind, with the model without positions in both."""
    panels = []
    for kind in KINDS:
        names = {way: f"{kind}, {way}" for way in WAYS} | {NONE: NONE}
        lines = [
            Line(way, answer["by length"], colour)
            for (way, name), colour in zip(names.items(), COLOURS, strict=False)
            for answer in answers[name]
        ]
        title = f"{kind} positions: words right, in %, a line for each seed"
        panels.append(Panel(title, lines, x=Axis("letters of the word", low=1), y=Axis(low=0, high=102)))
    return line_chart("", panels)


LESSON = Lesson(
    name="positions",
    claim="Without positions a Transformer cannot tell the order; learned or fixed, added, multiplied or concatenated, "
    "any of them restores it, and fixed ones are as good as learned ones.",
    after="Vaswani et al. 2017, 3.5 and table 3 (E)",
    run=run,
)
