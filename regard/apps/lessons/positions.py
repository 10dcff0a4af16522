"""Vaswani 2017, 3.5: attention ignores order; learned or fixed positional encodings give it, combined in three ways."""

from __future__ import annotations

import random
from string import ascii_lowercase
from typing import Any

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, bound, differences, margin, mean_range
from regard.apps.lessons.reverse_task import reverse_task
from regard.apps.lessons.training import greedy_report, trained
from regard.config import Tree, merge
from regard.plotting import COLOURS, Axis, Line, Panel, line_chart

NONE, KINDS, WAYS = (
    "none",
    ("learned", "sinusoidal"),
    {"added": "add", "multiplied": "multiply", "concatenated": "concatenate"},
)
ADDED = ("learned, added", "sinusoidal, added")
POSITIONED = {f"{kind}, {way}": (kind, combine) for kind in KINDS for way, combine in WAYS.items()}
MODELS: dict[str, Tree] = {
    NONE: {"positions": "none"},
    **{name: {"positions": kind, "position_combine": combine} for name, (kind, combine) in POSITIONED.items()},
}


def ordered(job: Tree) -> dict[str, Any]:
    """Train; unseen words exactly right in %, greedy, of all, by length, and of words longer than in training; letters
    right after true ones."""
    settings = dict(job)
    shortest, longest = settings.pop("beyond")
    with trained(settings) as pipeline:
        report = greedy_report(pipeline)
        generator = random.Random("positions")
        words = [
            "".join(generator.choices(ascii_lowercase, k=generator.randint(shortest, longest))) for _ in range(200)
        ]
        results = pipeline.translate_all(words, pipeline.search_with(beams=1))
        right = sum(result.text == word[::-1] for result, word in zip(results, words, strict=True))
        parameters = pipeline.run.facts["parameters"]
    lengths = [((bucket["shortest"] + bucket["longest"]) / 2, bucket["exact"]) for bucket in report["by_length"]]
    whole, tokens = report["exact"]["value"], report["forced"]["token_accuracy"]
    return {
        "exact": whole,
        "beyond": 100 * right / len(words),
        "tokens": tokens,
        "by length": lengths,
        "parameters": parameters,
    }


def run(budget: Budget) -> Finding:
    longest = budget.pick(tiny=4, quick=8, full=20)
    steps = budget.pick(tiny=10, quick=1200, full=4000)
    beyond = budget.pick(tiny=2, quick=4, full=10)
    transformer: Tree = {"model": {"preset": "transformer", "depth": 2, "max_positions": 64}}
    task = merge(reverse_task(budget, longest, steps), transformer, {"beyond": [longest + 1, longest + beyond]})
    width = task["model"]["width"]
    chosen = MODELS if budget.size == "full" else {name: MODELS[name] for name in (NONE, *ADDED)}
    trials = {name: merge(task, {"model": fields}) for name, fields in chosen.items()}
    answers = budget.compare("positions", ordered, trials)
    exact = {name: [answer["exact"] for answer in runs] for name, runs in answers.items()}
    verdicts = [
        margin(f"{name}: above no positions", differences(exact[name], exact[NONE]), "points", more_than=70)
        for name in ADDED
    ]
    apart = differences(exact["sinusoidal, added"], exact["learned, added"])
    verdicts.append(
        margin(
            "added, fixed and learned positions end within 2 points; margin",
            [2 - abs(answer) for answer in apart],
            "points",
        )
    )
    furthest = max(answer["beyond"] for name in ADDED for answer in answers[name])
    verdicts.append(bound("neither holds for words longer than any in training: right in %", furthest, 20))
    rows = [
        (
            name,
            mean_range(exact[name]),
            mean_range([answer["tokens"] for answer in runs]),
            mean_range([answer["beyond"] for answer in runs]),
            f"{runs[0]['parameters']:,}",
        )
        for name, runs in answers.items()
    ]
    numbers = ("words, %", "letters, given those before, %", f"words of {longest + 1} or more, %", "parameters")
    return Finding(
        experiment=f"A Transformer of 2 layers, {width} wide, learns for {steps:,} steps to write words of 1 to "
        f"{longest} letters back to front, with positions of each kind combined with the embeddings in each way; "
        f"exact match on unseen words, and on words of {longest + 1} to {longest + beyond} letters, longer than any in "
        "training.",
        tables=(Table(("positions", *numbers), tuple(rows)),),
        figures=(_figure(answers),),
        verdicts=tuple(verdicts),
        numbers={"words": answers},
    )


def _figure(answers: dict[str, list[dict[str, Any]]]) -> str:
    """A panel for each kind, with the model without positions in both."""
    panels = []
    for kind in KINDS:
        names = {way: f"{kind}, {way}" for way in WAYS if f"{kind}, {way}" in answers} | {NONE: NONE}
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
    "any of them restores it, fixed ones as well as learned ones; beyond the trained length neither holds.",
    after="Vaswani et al. 2017, 3.5 and table 3 (E)",
    run=run,
    formula="x_i = embedding(token_i) + position_i;  fixed: sin(i/10000^(2k/m)), cos(i/10000^(2k/m))",
    model=("letters", "embeddings + positions", "Transformer encoder", "Transformer decoder", "letters, backwards"),
)
