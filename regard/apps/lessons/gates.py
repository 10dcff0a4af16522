"""Hochreiter & Schmidhuber 1997, Cho 2014: with gates a recurrent state holds information longer."""

from __future__ import annotations

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
LETTERS, FILLER, KEPT = ascii_lowercase[:8], ascii_lowercase[8:16], 3
DISTANCES, LONGEST = (0, 2, 4, 8, 16, 24, 32), 32  # letters between those to keep and the question
CLEAR = 20.0  # points that a gated cell must be above the vanilla RNN at the longest distance
TINY = 1e-45  # where a gradient is 0 in single precision


def question(generator: random.Random, distance: int) -> Example:
    """Three letters to keep, `distance` others, and which of the three is asked for."""
    kept = generator.choices(LETTERS, k=KEPT)
    asked = generator.randrange(KEPT)
    filler = "".join(generator.choices(FILLER, k=distance))
    return Example(f"{''.join(kept)}{filler}{asked + 1}", kept[asked])


def questions(count: int, longest: int) -> list[Example]:
    """Of all distances up to the longest, mixed."""
    generator = random.Random("gates")
    return [question(generator, generator.randint(0, longest)) for _ in range(count)]


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
    """Train on all distances: accuracy on unseen questions by distance; gradients at the longest, before and after."""
    settings = dict(job)
    made = settings.pop("questions")
    with trained_on(questions(made["count"], made["longest"]), settings) as pipeline:
        generator = random.Random(f"gates, tested {pipeline.run.plan.training.seed}")
        accuracy: Points = []
        for distance in made["distances"]:
            asked = [question(generator, distance) for _ in range(made["tested"])]
            results = pipeline.translate_all([example.source for example in asked], pipeline.search)
            right = [result.text == example.target for result, example in zip(results, asked, strict=True)]
            accuracy.append((distance, 100 * sum(right) / len(right)))
        far = [question(generator, made["longest"]) for _ in range(64)]
        sources = pipeline.source_codec.encode_batch([example.source for example in far])
        source = torch.tensor([[*ids, EOS] for ids in sources])
        labels = torch.tensor([pipeline.run.target_codec.encode(example.target)[0] for example in far])
        models = {"untrained": pipeline.untrained(pipeline.run.plan.training.seed).model, "trained": pipeline.run.model}
        answer: dict[str, Any] = {"accuracy": accuracy}
        for name, model in models.items():
            assert isinstance(model, ClassifierModel)
            answer[name] = gradient_by_distance(model, source, labels)
    return answer


def run(budget: Budget) -> Finding:
    longest = budget.pick(tiny=4, quick=LONGEST, full=LONGEST)
    distances = [distance for distance in DISTANCES if distance <= longest]
    steps, width = budget.pick(tiny=10, quick=1500, full=3000), budget.pick(tiny=16, quick=64, full=128)
    task: Tree = {
        "questions": {
            "count": budget.pick(tiny=300, quick=30_000, full=100_000),
            "longest": longest,
            "distances": distances,
            "tested": budget.pick(tiny=20, quick=400, full=1000),
        },
        "data": {"dev_examples": 200, "test_examples": 50},
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
            "batch_tokens": 1024,
            "rate": 2e-3,
            "schedule": "cosine",
            "metric": "loss",
            "evaluate_every": max(steps // 5, 1),
        },
    }
    answers = budget.compare(
        "gates", remembered, {name: merge(task, {"model": {"cell": cell}}) for name, cell in CELLS.items()}
    )
    accuracy: dict[str, list[Points]] = {
        name: [answer["accuracy"] for answer in runs] for name, runs in answers.items()
    }
    gradients = {name: [answer["trained"] for answer in runs] for name, runs in answers.items()}
    fresh = {name: [answer["untrained"] for answer in runs] for name, runs in answers.items()}
    return Finding(
        experiment=f"Each cell, {width} wide, reads {KEPT} letters, then 0 to {longest} others, then which of the "
        f"first is asked for, and learns for {steps:,} steps to name it ({len(LETTERS)} kinds, chance is "
        f"{100 / len(LETTERS):.3g} %). The gradient is that of the logit of the right letter by the embedding of a "
        "letter, as a share of that at the question.",
        tables=(_table(distances, accuracy, gradients, fresh),),
        figures=(_figure(accuracy, gradients),),
        verdicts=tuple(_verdicts(accuracy, longest)),
        numbers={"accuracy by distance": accuracy, "trained gradient": gradients, "untrained gradient": fresh},
    )


def _verdicts(accuracy: dict[str, list[Points]], longest: int) -> Iterator[Verdict]:
    for name in GATED:
        pairs = zip(accuracy[name], accuracy[VANILLA], strict=True)
        yield margin(
            f"over {longest} letters {name} is above the vanilla RNN",
            [ours[-1][1] - theirs[-1][1] for ours, theirs in pairs],
            "points",
            more_than=CLEAR,
        )


def _table(
    distances: list[int],
    accuracy: dict[str, list[Points]],
    gradients: dict[str, list[list[float]]],
    fresh: dict[str, list[list[float]]],
) -> Table:
    titles = ("cell", *(f"over {distance}, %" for distance in distances), "gradient untrained", "trained")
    rows = []
    for name in CELLS:
        cells = [mean_range([dict(curve)[distance] for curve in accuracy[name]], digits=0) for distance in distances]
        at_first = [[shares[-1] for shares in fresh[name]], [shares[-1] for shares in gradients[name]]]
        rows.append((name, *cells, *(f"{geometric_mean(max(x, TINY) for x in values):.1e}" for values in at_first)))
    return Table(titles, tuple(rows))


def _figure(accuracy: dict[str, list[Points]], gradients: dict[str, list[list[float]]]) -> str:
    colours = dict(zip(CELLS, COLOURS, strict=False))
    right = [Line(name, curve, colours[name]) for name in CELLS for curve in accuracy[name]]
    reaching = [
        Line(name, [(back, max(share, TINY)) for back, share in enumerate(shares)], colours[name], dots=False)
        for name in CELLS
        for shares in gradients[name]
    ]
    return line_chart(
        "",
        [
            Panel(
                "the letter asked for named right, in %, a line for each seed",
                right,
                x=Axis("letters between", low=0),
                y=Axis(low=0, high=102),
            ),
            Panel(
                "after training: gradient by distance from the question, as a share of the question's",
                reaching,
                x=Axis("letters back", low=0),
                y=Axis(log=True),
            ),
        ],
    )


LESSON = Lesson(
    name="gates",
    claim="LSTM and GRU hold information longer than the vanilla RNN.",
    after="Hochreiter & Schmidhuber 1997; Cho et al. 2014",
    run=run,
    formula="RNN: h' = tanh(W x + U h)     LSTM: c' = σ(f) c + σ(i) tanh(g), h' = σ(o) tanh(c')",
    model=("3 letters to keep", "0 to 32 others", "which one?", "last state of the cell", "the letter"),
)
