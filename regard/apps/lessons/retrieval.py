"""Attention as a soft dictionary: a query is compared with keys, and their values are averaged by the similarity."""

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
    """B dictionaries of S entries, and the entry that is looked up in each."""

    keys: Tensor  # (B, S), all different
    values: Tensor  # (B, S)
    index: Tensor  # (B,) of the right entry

    @property
    def query(self) -> Tensor:
        return self.keys.gather(1, self.index[:, None])[:, 0]

    @property
    def answer(self) -> Tensor:
        return self.values.gather(1, self.index[:, None])[:, 0]


def draw(count: int, entries: int, generator: torch.Generator) -> Lookup:
    """Random keys and values: nothing can be known before the dictionary is read."""
    keys = torch.rand(count, KEYS, generator=generator).argsort(1)[:, :entries]
    values = torch.randint(VALUES, (count, entries), generator=generator)
    return Lookup(keys, values, torch.randint(entries, (count,), generator=generator))


class Dictionary(nn.Module):
    """An entry is the sum of the vectors of its key and its value; the query is the vector of a key.

    With attention one head reads the entries, Σᵢ softmaxᵢ(q·kᵢ/√D) vᵢ. Without it the context is the mean of
    φ(W eᵢ + b), four times as wide: it can hold which value belongs to which key. In both a feed-forward layer
    answers from the context and the query.
    """

    def __init__(self, attends: bool) -> None:
        super().__init__()
        self.key_table = nn.Embedding(KEYS, WIDTH)
        self.value_table = nn.Embedding(VALUES, WIDTH)
        self.attention = MultiHeadAttention(WIDTH, WIDTH, 1, "split", 0.0) if attends else None
        self.inner_proj = None if attends else nn.Linear(WIDTH, 4 * WIDTH)
        context = WIDTH if attends else 4 * WIDTH
        self.answer = nn.Sequential(nn.Linear(context + WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, VALUES))

    def forward(self, lookup: Lookup) -> Tensor:
        """Logits (B, VALUES)."""
        entries = self.key_table(lookup.keys) + self.value_table(lookup.values)  # (B, S, D)
        query = self.key_table(lookup.query)
        if self.attention is not None:
            context = self.attention(query[:, None], *self.attention.prepare(entries))[:, 0]
        else:
            assert self.inner_proj is not None
            context = self.inner_proj(entries).relu().mean(1)
        return self.answer(torch.cat((context, query), dim=-1))


@dataclass(frozen=True)
class Trial:
    attends: bool
    steps: int
    sizes: tuple[int, ...]
    seed: int


@dataclass(frozen=True)
class Answers:
    """On unseen dictionaries, by how many entries they have."""

    accuracy: Points  # in %
    weight: Points  # on the right key, mean; empty without attention
    weights: list[list[float]]  # in one dictionary, queried with each of its keys


def learned(job: Trial) -> Answers:
    """Train on new random dictionaries at each step, then measure on others."""
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
        logits, weights = _query(model, lookup)
        accuracy.append((size, 100 * (logits.argmax(-1) == lookup.answer).float().mean().item()))
        if weights is not None:
            weight.append((size, weights.gather(1, lookup.index[:, None]).mean().item()))
    single = draw(1, ENTRIES, generator)
    queries = Lookup(single.keys.expand(ENTRIES, -1), single.values.expand(ENTRIES, -1), torch.arange(ENTRIES))
    weights = _query(model, queries)[1]
    return Answers(accuracy, weight, [] if weights is None else weights.tolist())


def _query(model: Dictionary, lookup: Lookup) -> tuple[Tensor, Tensor | None]:
    """Logits (B, VALUES) and weights (B, S)."""
    with torch.inference_mode(), watching(model) as watch:
        logits = model(lookup)
    return logits, watch.tensors()["attention.weights"][:, 0, 0] if model.attention is not None else None


def run(budget: Budget) -> Finding:
    steps = budget.pick(tiny=10, quick=2000, full=10_000)
    sizes = budget.pick(tiny=(2, 8), quick=(2, 4, 8, 16, 32, 64), full=(2, 4, 8, 16, 32, 64, 100))
    jobs = [Trial(attends, steps, sizes, seed) for attends in (True, False) for seed in budget.seeds]
    answers = budget.pool.run("retrieval", learned, jobs)
    results = {ATTENTIVE: answers[: len(budget.seeds)], POOLED: answers[len(budget.seeds) :]}
    accuracy = {name: [dict(result.accuracy) for result in runs] for name, runs in results.items()}
    weight = [dict(result.weight) for result in results[ATTENTIVE]]
    return Finding(
        experiment=f"A dictionary holds {ENTRIES} random entries, each a key (of {KEYS}) and a value (of {VALUES}); "
        "the query is one of its keys. One head of attention and, without attention, the mean of a layer over the "
        f"entries learn to give its value for {steps:,} steps of {BATCH} new dictionaries. They are tested on 1,000 "
        f"unseen dictionaries of {sizes[0]} to {sizes[-1]} entries. Chance is one over the number of entries.",
        tables=(_table(accuracy, weight, sizes),),
        figures=(_figure(results, sizes), _map(results[ATTENTIVE][0])),
        verdicts=(
            margin(
                f"the weight on the right of {ENTRIES} keys is above chance",
                [result[ENTRIES] - 1 / ENTRIES for result in weight],
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
            "accuracy": {name: [result.accuracy for result in runs] for name, runs in results.items()},
            "weight on the right key": [result.weight for result in results[ATTENTIVE]],
        },
    )


def _table(
    accuracy: dict[str, list[dict[float, float]]], weight: list[dict[float, float]], sizes: tuple[int, ...]
) -> Table:
    rows = [
        (
            str(size),
            mean_range([values[size] for values in weight], 2),
            f"{1 / size:.2f}",
            *(mean_range([values[size] for values in runs]) for runs in accuracy.values()),
        )
        for size in sizes
    ]
    titles = ("entries", "weight on the right key", "chance", *(f"{name}, % right" for name in accuracy))
    return Table(titles, tuple(rows))


def _figure(results: dict[str, list[Answers]], sizes: tuple[int, ...]) -> str:
    across = Axis(f"entries of a dictionary ({ENTRIES} in training)", log=True)
    chance = Line("chance", [(size, 1 / size) for size in sizes], COLOURS[8], dashed=True)
    right = [Line(ATTENTIVE, result.weight, COLOURS[0]) for result in results[ATTENTIVE]]
    answers = [
        Line(name, result.accuracy, COLOURS[index])
        for index, (name, runs) in enumerate(results.items())
        for result in runs
    ]
    return line_chart(
        "",
        [
            Panel(
                "weight on the right key, a line for each seed", [*right, chance], x=across, y=Axis(low=0, high=1.02)
            ),
            Panel("right answers in %, a line for each seed", answers, x=across, y=Axis(low=0, high=102)),
        ],
    )


def _map(result: Answers) -> str:
    names = tuple(f"key {number}" for number in range(1, ENTRIES + 1))
    rows = tuple(f"{name}?" for name in names)
    return heat_map(HeatMap("one dictionary, queried with each of its keys", [result.weights], rows, names))


LESSON = Lesson(
    name="retrieval",
    claim="Attention is a soft dictionary: it learns to put its weight on the key that equals the query.",
    after="the lectures on queries, keys and values; Vaswani 2017, 3.2",
    run=run,
    formula="answer = Σ_i softmax_i(q · k_i / √K) v_i",
    model=("keys and values", "query", "softmax of q·k", "weighted sum of values", "the value"),
)
