"""Hochreiter & Schmidhuber 1997, Cho 2014: with gates a recurrent state holds information longer."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from statistics import geometric_mean
from string import ascii_lowercase
from typing import Any

import torch
from torch import Tensor

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, Verdict, margin, mean_range
from regard.apps.lessons.training import trained_on
from regard.config import Tree, merge
from regard.data.examples import Example
from regard.data.tokenizer import EOS
from regard.models.classifier import ClassifierModel
from regard.models.recurrent import RecurrentEncoder
from regard.plotting import COLOURS, Axis, Line, Panel, Points, line_chart

VANILLA, GATED = "vanilla RNN", {"GRU": "gru", "LSTM": "lstm"}
CELLS = {VANILLA: "rnn", **GATED}
LETTERS = ascii_lowercase[:8]
BRIDGED = 90.0  # percent right from which on a distance counts as bridged
TINY = 1e-45  # where a gradient is 0 in single precision


def strings(distance: int, count: int) -> list[Example]:
    """A letter, then `distance` others; the class is the first letter."""
    generator = random.Random(f"gates {distance}")
    drawn = ("".join(generator.choices(LETTERS, k=distance + 1)) for _ in range(count))
    return [Example(text, text[0]) for text in drawn]


def gradient_by_distance(model: ClassifierModel, source: Tensor, labels: Tensor) -> list[float]:
    """‖∂ logit of the truth / ∂ embedding d letters before the last‖ for d = 0, 1, …, as a share of that at d = 0.

    source (B, S) without padding, each row ends with EOS, which is not counted; labels (B,); the mean over rows.
    """
    assert isinstance(model.encoder, RecurrentEncoder)
    states = embedded = model.encoder.embedding(source).detach().requires_grad_()  # (B, S, D)
    lengths = torch.full((source.shape[0],), source.shape[1])
    for layer in model.encoder.layers:
        states, _ = layer(states, lengths)
    logits = model.output(states[:, -1])
    (gradient,) = torch.autograd.grad(logits.gather(1, labels[:, None]).sum(), embedded)
    norms = gradient[:, :-1].double().norm(dim=-1).mean(0).flip(0)  # (S-1,)
    return (norms / norms[0]).tolist()


def remembered(job: Tree) -> dict[str, Any]:
    """Train at one distance: accuracy on unseen strings, and the gradient by distance before and after training."""
    settings = dict(job)
    with trained_on(strings(**settings.pop("strings")), settings) as pipeline:
        test = pipeline.run.examples("test")
        results = pipeline.translate_all([example.source for example in test], pipeline.search)
        right = [result.text == example.target for result, example in zip(results, test, strict=True)]
        first = test[:64]
        sources = pipeline.source_codec.encode_batch([example.source for example in first])
        source = torch.tensor([[*ids, EOS] for ids in sources])
        labels = torch.tensor([pipeline.run.target_codec.encode(example.target)[0] for example in first])
        models = {"untrained": pipeline.untrained(pipeline.run.plan.training.seed).model, "trained": pipeline.run.model}
        answer: dict[str, Any] = {"accuracy": 100 * sum(right) / len(right)}
        for name, model in models.items():
            assert isinstance(model, ClassifierModel)
            answer[name] = gradient_by_distance(model, source, labels)
    return answer


def bridged(accuracies: Points) -> float:
    """The longest distance up to which accuracy is at least BRIDGED; 0: none."""
    reach = 0.0
    for distance, accuracy in sorted(accuracies):
        if accuracy < BRIDGED:
            break
        reach = distance
    return reach


def run(budget: Budget) -> Finding:
    distances = budget.pick(tiny=(2, 4), quick=(2, 4, 8, 16, 32), full=(2, 4, 8, 16, 32, 64, 128))
    steps, rows = budget.pick(tiny=10, quick=600, full=3000), budget.pick(tiny=8, quick=32, full=64)
    width = budget.pick(tiny=16, quick=64, full=128)
    task: Tree = {
        "strings": {"count": budget.pick(tiny=300, quick=8000, full=50_000)},
        "data": {"dev_examples": 100, "test_examples": budget.pick(tiny=50, quick=400, full=1000)},
        "tokenizer": {"kind": "character"},
        "model": {
            "preset": "lstm-classifier",
            "direction": "forward",
            "pooling": "last",
            "width": width,
            "dropout": 0.0,
        },
        "training": {
            "steps": steps,
            "rate": 2e-3,
            "schedule": "cosine",
            "metric": "loss",
            "evaluate_every": steps // 5,
        },
    }
    trials = {
        f"{name} over {distance}": merge(
            task,
            {"strings": {"distance": distance}, "model": {"cell": cell}},
            {"training": {"batch_tokens": rows * (distance + 2)}},
        )
        for name, cell in CELLS.items()
        for distance in distances
    }
    answers = budget.compare("gates", remembered, trials)
    seeds = range(len(budget.seeds))
    accuracy: dict[str, list[Points]] = {}
    gradients: dict[str, list[Points]] = {}  # gradient at the first letter after training
    for name in CELLS:
        by_distance = [(distance, answers[f"{name} over {distance}"]) for distance in distances]
        accuracy[name] = [[(distance, runs[seed]["accuracy"]) for distance, runs in by_distance] for seed in seeds]
        gradients[name] = [
            [(distance, runs[seed]["trained"][distance]) for distance, runs in by_distance] for seed in seeds
        ]
    fresh = {name: [answer["untrained"] for answer in answers[f"{name} over {distances[-1]}"]] for name in CELLS}
    return Finding(
        experiment=f"Each cell, {width} wide, learns for {steps:,} steps to name the first of some random letters "
        f"({len(LETTERS)} kinds, chance is {100 / len(LETTERS):.3g} %) after reading {distances[0]} to {distances[-1]} "
        "others: a training for each distance. The gradient is that of the logit of the right class by a letter's "
        "embedding, as a share of that at the last letter.",
        tables=(_table(distances, accuracy, gradients, fresh),),
        figures=(_figure(accuracy, gradients, fresh),),
        verdicts=tuple(_verdicts(distances[-1], accuracy, gradients)),
        numbers={"accuracy by distance": accuracy, "trained gradient": gradients, "untrained gradient": fresh},
    )


def _verdicts(longest: int, accuracy: dict[str, list[Points]], gradients: dict[str, list[Points]]) -> Iterator[Verdict]:
    for name in GATED:
        yield margin(
            f"{name} bridges a longer distance than the vanilla RNN ({BRIDGED:g} % right)",
            [bridged(ours) - bridged(theirs) for ours, theirs in zip(accuracy[name], accuracy[VANILLA], strict=True)],
            "letters",
        )
    for name in GATED:
        pairs = zip(gradients[name], gradients[VANILLA], strict=True)
        yield margin(
            f"trained over {longest} letters, more gradient reaches the first of them in {name}",
            [math.log10(max(ours[-1][1], TINY) / max(theirs[-1][1], TINY)) for ours, theirs in pairs],
            "powers of ten",
            more_than=1,
        )


def _table(
    distances: tuple[int, ...],
    accuracy: dict[str, list[Points]],
    gradients: dict[str, list[Points]],
    fresh: dict[str, list[list[float]]],
) -> Table:
    last = distances[-1]
    titles = ["cell", *(f"over {distance}, %" for distance in distances)]
    titles += [f"gradient over {last}, untrained", "trained"]
    rows = []
    for name in CELLS:
        cells = [mean_range([dict(curve)[distance] for curve in accuracy[name]], digits=0) for distance in distances]
        at_longest = [[curve[last] for curve in fresh[name]], [curve[-1][1] for curve in gradients[name]]]
        rows.append((name, *cells, *(f"{geometric_mean(max(x, TINY) for x in values):.1e}" for values in at_longest)))
    return Table(tuple(titles), tuple(rows))


def _figure(
    accuracy: dict[str, list[Points]], gradients: dict[str, list[Points]], fresh: dict[str, list[list[float]]]
) -> str:
    colours = dict(zip(CELLS, COLOURS, strict=False))

    def lines(curves: dict[str, list[Points]], dots: bool = True) -> list[Line]:
        return [Line(name, curve, colours[name], dots=dots) for name in CELLS for curve in curves[name]]

    untrained: dict[str, list[Points]] = {
        name: [[(distance, share) for distance, share in enumerate(shares)] for shares in curves]
        for name, curves in fresh.items()
    }
    letters = Axis("letters between", log=True, low=accuracy[VANILLA][0][0][0])
    return line_chart(
        "",
        [
            Panel(
                "the first letter named right, in %, a line for each seed",
                lines(accuracy),
                x=letters,
                y=Axis(low=0, high=102),
            ),
            Panel(
                "gradient at the first letter after training at that distance, as a share of the last letter's",
                lines(gradients),
                x=letters,
                y=Axis(log=True),
            ),
            Panel(
                "before training: gradient by distance",
                lines(untrained, False),
                x=Axis("letters between"),
                y=Axis(log=True),
            ),
        ],
    )


LESSON = Lesson(
    name="gates",
    claim="LSTM and GRU hold information longer than the vanilla RNN.",
    after="Hochreiter & Schmidhuber 1997; Cho et al. 2014",
    run=run,
)
