"""Vaswani 2017, 3.2.2 and table 3 (A): several heads with equally many parameters, and what each of them does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations
from statistics import mean
from string import ascii_lowercase
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.analysis.head_ablation import ablate_heads
from regard.analysis.roles import TokenTruth, measure_roles
from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, Verdict, differences, margin, mean_range
from regard.apps.lessons.reverse_task import reverse_task
from regard.apps.lessons.training import greedy_report, trained
from regard.config import Tree, merge
from regard.data.tokenizer import BOS, EOS
from regard.nn.taps import watching
from regard.pipeline import Pipeline
from regard.plotting import COLOURS, Axis, Line, Panel, Points, line_chart

HEADS, SHOWN = (1, 2, 4, 8), 4  # those that are compared, and the one whose heads are described
DRAWN = ("encoder.layers.1.self_attention", "decoder.layers.0.cross_attention", "decoder.layers.1.cross_attention")
WORDS = 64  # on which attention is measured


def head_distance(weights: Tensor) -> float:
    """How different heads are: ½ Σ_s |w_h(s) - w_h'(s)|, the mean over pairs of heads, rows and queries.

    weights (B, H, T, S); 0: all are alike, 1: no two of them attend to the same key.
    """
    pairs = [weights[:, first] - weights[:, second] for first, second in combinations(range(weights.shape[1]), 2)]
    return float(torch.stack(pairs).abs().sum(-1).mean() / 2) if pairs else 0.0


def mirrored(length: int) -> Tensor:
    """Which source letter each output letter is, for a word of this length: (T, S), EOS included."""
    return F.pad(torch.eye(length, dtype=torch.bool).flip(0), (0, 1, 0, 1))


def watched_words(pipeline: Pipeline, length: int) -> dict[str, Tensor]:
    """The weights (B, H, T, S) of every attention by name, while random words of one length are reversed."""
    generator = random.Random(f"heads {length}")
    words = ["".join(generator.choices(ascii_lowercase, k=length)) for _ in range(WORDS)]
    ids = torch.tensor(pipeline.source_codec.encode_batch(words))
    source = torch.cat((ids, torch.full((WORDS, 1), EOS)), dim=1)
    target_in = torch.cat((torch.full((WORDS, 1), BOS), ids.flip(1)), dim=1)
    with torch.inference_mode(), watching(pipeline.run.model) as watch:
        pipeline.run.model(source, torch.ones_like(source, dtype=torch.bool), target_in)
    return {name.removesuffix(".weights"): seen for name, seen in watch.tensors().items() if name.endswith(".weights")}


def described(pipeline: Pipeline) -> list[dict[str, Any]]:
    """Each head: its strongest role above chance, and by how much the loss rises without it."""
    examples = [example for example in pipeline.run.examples("dev") if example.source != example.target][:WORDS]
    truths = [TokenTruth(aligned=mirrored(len(example.source))) for example in examples]
    report = ablate_heads(pipeline.run.model, pipeline.batches(examples) or [])
    without = {row.name: row.loss - report.whole.loss for row in report.rows}
    rows = []
    for head in measure_roles(pipeline.trace_all(examples), truths).heads:
        role, share = max(head.shares.items(), key=lambda item: item[1].lift)
        name = f"{head.attention}.{head.head}"
        rows.append({"head": name, "attends to": role, "weight": share.weight, "chance": share.chance})
        rows[-1]["loss without"] = without[name]
    return rows


def train_heads(job: Tree) -> dict[str, Any]:
    """Train; exact match, parameters, how different heads are before and after, and in one model what each does."""
    settings = dict(job)
    length, described_too = settings.pop("length"), job["model"]["heads"] == SHOWN
    with trained(settings) as pipeline:
        report = greedy_report(pipeline)
        weights = watched_words(pipeline, length)
        fresh = watched_words(pipeline.untrained(pipeline.run.plan.training.seed), length)
        example = pipeline.trace(ascii_lowercase[:length], ascii_lowercase[:length][::-1])
        return {
            "exact": report["exact"]["value"],
            "loss": report["forced"]["loss"],
            "parameters": pipeline.run.facts["parameters"],
            "distance": mean(map(head_distance, weights.values())),
            "distance untrained": mean(map(head_distance, fresh.values())),
            "heads": described(pipeline) if described_too else [],
            "maps": [example.attention(name).svg() for name in DRAWN] if described_too else [],
        }


def run(budget: Budget) -> Finding:
    longest = budget.pick(tiny=4, quick=12, full=20)
    steps = budget.pick(tiny=10, quick=500, full=4000)
    transformer: Tree = {"length": longest, "model": {"preset": "transformer", "depth": 2}}
    task = merge(reverse_task(budget, longest, steps), transformer)
    width = task["model"]["width"]
    trials = {_name(heads): merge(task, {"model": {"heads": heads}}) for heads in HEADS}
    answers = budget.compare("heads", train_heads, trials)
    rows = [
        (
            name,
            mean_range([answer["exact"] for answer in runs]),
            mean_range([answer["loss"] for answer in runs], digits=3),
            mean_range([answer["distance"] for answer in runs], digits=2) if name != _name(1) else "",
            mean_range([answer["distance untrained"] for answer in runs], digits=2) if name != _name(1) else "",
            f"{runs[0]['parameters']:,}",
        )
        for name, runs in answers.items()
    ]
    first = answers[_name(SHOWN)][0]
    roles = [
        (head["head"], head["attends to"], *(f"{head[key]:.2f}" for key in ("weight", "chance", "loss without")))
        for head in first["heads"]
    ]
    titles = ("model", "words, %", "loss", "distance of heads", "untrained", "parameters")
    return Finding(
        experiment=f"A Transformer of 2 layers, {width} wide, with 1 to {HEADS[-1]} heads that share that width, "
        f"learns for {steps:,} steps to write words of 1 to {longest} letters back to front, where each letter "
        "has one right source position; exact match on unseen words. The distance of two heads is the share of their "
        "weight that is on different keys; the mean over all pairs and attentions. "
        f"Of the model with {SHOWN} heads and "
        f"seed {budget.seeds[0]}: what each head attends to most "
        "above chance (aligned: the letter to generate), with which share of its weight, and how much the loss rises "
        "without it.",
        tables=(
            Table(titles, tuple(rows)),
            Table(("head", "attends to", "weight", "by chance", "loss rises by"), tuple(roles)),
        ),
        figures=(_figure(answers), *first["maps"]),
        verdicts=tuple(_verdicts(answers)),
        numbers={name: [_plain(answer) for answer in runs] for name, runs in answers.items()},
    )


def _name(heads: int) -> str:
    return f"{heads} head{'s' * (heads > 1)}"


def _plain(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key != "maps"}


def _verdicts(answers: dict[str, list[dict[str, Any]]]) -> Iterator[Verdict]:
    exact = {name: [answer["exact"] for answer in runs] for name, runs in answers.items()}
    several = [_name(heads) for heads in HEADS if heads > 1]
    for name in several:
        yield margin(f"{name} are above one", differences(exact[name], exact[_name(1)]), "points", more_than=2)
    for name in several:
        distances = [answer["distance"] for answer in answers[name]]
        yield margin(
            f"two of {name} share less than half of their weight", distances, "of the weight on different keys", 0.5
        )
    counts = {answer["parameters"] for runs in answers.values() for answer in runs}
    yield Verdict(
        "all have equally many parameters", len(counts) == 1, ", ".join(f"{count:,}" for count in sorted(counts))
    )


def _figure(answers: dict[str, list[dict[str, Any]]]) -> str:
    seeds = range(len(answers[_name(1)]))
    panels = []
    for index, (key, title) in enumerate((("exact", "words right, in %"), ("distance", "distance of heads"))):
        curves: list[Points] = [
            [(heads, answers[_name(heads)][seed][key]) for heads in HEADS if heads > 1 or key == "exact"]
            for seed in seeds
        ]
        lines = [Line(title, curve, COLOURS[index]) for curve in curves]
        panels.append(Panel(f"{title}, a line for each seed", lines, x=Axis("heads", log=True), y=Axis(low=0)))
    return line_chart("", panels)


LESSON = Lesson(
    name="heads",
    claim="With equally many parameters several heads are better than one, and they attend to different keys.",
    after="Vaswani et al. 2017, 3.2.2 and table 3 (A)",
    run=run,
)
