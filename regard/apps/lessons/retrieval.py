"""Attention as a soft dictionary: a query is compared with keys, and the values come back as it is like their keys."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, margin, mean_range
from regard.nn.attention import MultiHeadAttention
from regard.nn.taps import watching
from regard.plotting import COLOURS, Axis, HeatMap, Line, Panel, Points, heat_map, line_chart

KEYS, VALUES, WIDTH, BATCH = 100, 20, 64, 64
ENTRIES = 8  # of each dictionary in training
ATTENTIVE, POOLED = "attention", "mean of the entries"


@dataclass(frozen=True)
class Lookup:
    """B dictionaries of S entries, and what is looked up in each."""

    keys: Tensor  # (B, S), all different
    values: Tensor  # (B, S)
    place: Tensor  # (B,) where the right entry stands

    @property
    def asked(self) -> Tensor:
        return self.keys.gather(1, self.place[:, None])[:, 0]

    @property
    def answer(self) -> Tensor:
        return self.values.gather(1, self.place[:, None])[:, 0]


def draw(count: int, entries: int, generator: torch.Generator) -> Lookup:
    """Random keys and values: nothing can be known before the dictionary is read."""
    keys = torch.rand(count, KEYS, generator=generator).argsort(1)[:, :entries]
    values = torch.randint(VALUES, (count, entries), generator=generator)
    return Lookup(keys, values, torch.randint(entries, (count,), generator=generator))


class Dictionary(nn.Module):
    """An entry is the sum of the vectors of its key and its value; what is asked is the vector of a key.

    With attention one head reads the entries, Σᵢ softmaxᵢ(q·kᵢ/√D) vᵢ. Without it the mean of φ(W eᵢ + b) is read, four
    times as wide: which value belongs to which key can be kept in it. In both a feed-forward layer answers from what
    was read and from what was asked.
    """

    def __init__(self, attends: bool) -> None:
        super().__init__()
        self.key_table = nn.Embedding(KEYS, WIDTH)
        self.value_table = nn.Embedding(VALUES, WIDTH)
        self.attention = MultiHeadAttention(WIDTH, WIDTH, 1, "split", 0.0) if attends else None
        self.inner_proj = None if attends else nn.Linear(WIDTH, 4 * WIDTH)
        read = WIDTH if attends else 4 * WIDTH
        self.answer = nn.Sequential(nn.Linear(read + WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, VALUES))

    def forward(self, lookup: Lookup) -> Tensor:
        """Logits (B, VALUES)."""
        entries = self.key_table(lookup.keys) + self.value_table(lookup.values)  # (B, S, D)
        asked = self.key_table(lookup.asked)
        if self.attention is not None:
            read = self.attention(asked[:, None], *self.attention.prepare(entries))[:, 0]
        else:
            assert self.inner_proj is not None
            read = self.inner_proj(entries).relu().mean(1)
        return self.answer(torch.cat((read, asked), dim=-1))


@dataclass(frozen=True)
class Job:
    attends: bool
    steps: int
    sizes: tuple[int, ...]
    seed: int


@dataclass(frozen=True)
class Answers:
    """On unseen dictionaries, by how many entries they have."""

    accuracy: Points  # in %
    weight: Points  # on the right key, mean; empty without attention
    weights: list[list[float]]  # in one dictionary each key asked for in turn


def learned(job: Job) -> Answers:
    """Train on dictionaries that are drawn anew at each step, then ask others."""
    torch.manual_seed(job.seed)
    generator = torch.Generator().manual_seed(job.seed)
    model = Dictionary(job.attends)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, job.steps)
    for _ in range(job.steps):
        lookup = draw(BATCH, ENTRIES, generator)
        optimizer.zero_grad()
        F.cross_entropy(model(lookup), lookup.answer).backward()
        optimizer.step()
        schedule.step()
    accuracy: Points = []
    weight: Points = []
    for size in job.sizes:
        lookup = draw(1000, size, generator)
        logits, weights = _ask(model, lookup)
        accuracy.append((size, 100 * (logits.argmax(-1) == lookup.answer).float().mean().item()))
        if weights is not None:
            weight.append((size, weights.gather(1, lookup.place[:, None]).mean().item()))
    one = draw(1, ENTRIES, generator)
    every = Lookup(one.keys.expand(ENTRIES, -1), one.values.expand(ENTRIES, -1), torch.arange(ENTRIES))
    weights = _ask(model, every)[1]
    return Answers(accuracy, weight, [] if weights is None else weights.tolist())


def _ask(model: Dictionary, lookup: Lookup) -> tuple[Tensor, Tensor | None]:
    """Logits (B, VALUES) and weights (B, S)."""
    with torch.inference_mode(), watching(model) as watch:
        logits = model(lookup)
    return logits, watch.tensors()["attention.weights"][:, 0, 0] if model.attention is not None else None


def run(budget: Budget) -> Finding:
    steps = budget.pick(tiny=10, quick=2000, full=10_000)
    sizes = budget.pick(tiny=(2, 8), quick=(2, 4, 8, 16, 32, 64), full=(2, 4, 8, 16, 32, 64, 100))
    jobs = [Job(attends, steps, sizes, seed) for attends in (True, False) for seed in budget.seeds]
    answers = budget.pool.run("retrieval", learned, jobs)
    found = {ATTENTIVE: answers[: len(budget.seeds)], POOLED: answers[len(budget.seeds) :]}
    accuracy = {name: [dict(one.accuracy) for one in each] for name, each in found.items()}
    weight = [dict(one.weight) for one in found[ATTENTIVE]]
    return Finding(
        experiment=f"A dictionary holds {ENTRIES} random entries, each a key (of {KEYS}) and a value (of {VALUES}); "
        "one key is asked for. One head of attention and, without attention, the mean of a layer over the entries "
        f"learn to give its value for {steps:,} steps of {BATCH} new dictionaries. They are asked in 1,000 unseen "
        f"dictionaries of {sizes[0]} to {sizes[-1]} entries. Chance is a weight of one over the number of entries.",
        tables=(_table(accuracy, weight, sizes),),
        figures=(_figure(found, sizes), _map(found[ATTENTIVE][0])),
        verdicts=(
            margin(
                f"the weight on the right of {ENTRIES} keys is above chance",
                [one[ENTRIES] - 1 / ENTRIES for one in weight],
                "of the weight",
                more_than=0.5,
            ),
            margin(
                "attention answers better than a model without it",
                [a[ENTRIES] - b[ENTRIES] for a, b in zip(accuracy[ATTENTIVE], accuracy[POOLED], strict=True)],
                "points",
                more_than=20,
            ),
        ),
        numbers={
            "accuracy": {name: [one.accuracy for one in each] for name, each in found.items()},
            "weight on the right key": [one.weight for one in found[ATTENTIVE]],
        },
    )


def _table(
    accuracy: dict[str, list[dict[float, float]]], weight: list[dict[float, float]], sizes: tuple[int, ...]
) -> Table:
    rows = [
        (
            str(size),
            mean_range([one[size] for one in weight], 2),
            f"{1 / size:.2f}",
            *(mean_range([one[size] for one in each]) for each in accuracy.values()),
        )
        for size in sizes
    ]
    titles = ("entries", "weight on the right key", "chance", *(f"{name}, % right" for name in accuracy))
    return Table(titles, tuple(rows))


def _figure(found: dict[str, list[Answers]], sizes: tuple[int, ...]) -> str:
    across = Axis(f"entries of a dictionary ({ENTRIES} in training)", log=True)
    chance = Line("chance", [(size, 1 / size) for size in sizes], COLOURS[8], dashed=True)
    right = [Line(ATTENTIVE, one.weight, COLOURS[0]) for one in found[ATTENTIVE]]
    answers = [
        Line(name, one.accuracy, COLOURS[place]) for place, (name, each) in enumerate(found.items()) for one in each
    ]
    return line_chart(
        "",
        [
            Panel("weight on the right key, a line a seed", [*right, chance], x=across, y=Axis(low=0, high=1.02)),
            Panel("right answers in %, a line a seed", answers, x=across, y=Axis(low=0, high=102)),
        ],
    )


def _map(one: Answers) -> str:
    names = tuple(f"key {number}" for number in range(1, ENTRIES + 1))
    rows = tuple(f"{name}?" for name in names)
    return heat_map(HeatMap("one dictionary, queried with each of its keys", [one.weights], rows, names))


LESSON = Lesson(
    name="retrieval",
    claim="Attention is a soft dictionary: it learns to put its weight on the key that is asked for.",
    after="the lectures on queries, keys and values; Vaswani 2017, 3.2",
    run=run,
)
