"""Self-attention sees a set: permuting its input permutes its output, unless positions or a mask give the order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import mean

import torch
from torch import Tensor

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, Verdict, bound, margin, mean_range
from regard.apps.lessons.training import trained
from regard.config import ModelPlan, Tree, merge, preset_fields
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.plotting import COLOURS, Axis, Bar, bar_chart

WIDTH, LENGTH, BATCH, VOCABULARY = 64, 12, 4, 50
UNORDERED = (
    "self-attention, 3 layers"  # with feed-forward layers, residuals and norms, and nothing that gives the order
)
ENCODERS: dict[str, Tree] = {
    UNORDERED: {"positions": "none"},
    "… with sinusoidal positions": {"positions": "sinusoidal"},
    "… with learned positions": {"positions": "learned"},
    "… with rotary positions": {"positions": "rotary"},
    "… with ALiBi": {"positions": "alibi"},
    "… with a causal mask": {"positions": "none", "encoder": "none"},
}
PRECISION = 100 * torch.finfo(torch.float64).eps

RNN, BETWEEN, WITH_POSITIONS = "RNN with attention", "in-between model", "in-between, with positions"
MODELS: dict[str, Tree] = {
    RNN: {"preset": "lstm-additive"},
    BETWEEN: {"preset": "attention-rnn"},
    WITH_POSITIONS: {"preset": "attention-rnn", "positions": "sinusoidal"},
}
SORT, DATES, REVERSE = TASKS = ("sort", "dates", "reverse")  # order matters never, sometimes (3/4/1961), always
TRAININGS = (*((task, model) for task in TASKS for model in (RNN, BETWEEN)), (REVERSE, WITH_POSITIONS))


def residual(function: Callable[[Tensor], Tensor], inputs: Tensor, order: Tensor) -> float:
    """max |f(s(x)) - s(f(x))| / max |f(x)| with s on axis 1: 0 where f is equivariant under the permutation s."""
    outputs = function(inputs)
    return float((function(inputs[:, order]) - outputs[:, order]).abs().max() / outputs.abs().max())


def encoder_residual(fields: Tree, seed: int) -> float:
    """Of an untrained model in double precision, on random tokens in random order."""
    config = ModelPlan.model_validate({**preset_fields("transformer"), "width": WIDTH, **fields})
    model = fuse(build_model(config, VOCABULARY, VOCABULARY, True, seed)).double().eval()
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(3, VOCABULARY, (BATCH, LENGTH), generator=generator)
    order = torch.randperm(LENGTH, generator=generator)
    real = torch.ones_like(tokens, dtype=torch.bool)
    with torch.inference_mode():
        return residual(lambda ids: model.encode(ids, real).states, tokens, order)


def exact_match(settings: Tree) -> float:
    """Train, then exact match in % on unseen sources, greedy."""
    with trained(settings) as model:
        return model.evaluate(model.run.examples("test"), model.search_with(beams=1)).as_dict()["exact"]["value"]


def ceiling(lengths: range, letters: int = 26) -> float:
    """The best that a model without order can do on reverse, in %: it knows the letters and guesses their order.

    A mean over 2,000 random words of each length.
    """
    generator = torch.Generator().manual_seed(1)
    chances = []
    for length in lengths:
        words = torch.randint(letters, (2000, length), generator=generator).tolist()
        chances.append(mean(1 / orders(word) for word in words))
    return 100 * mean(chances)


def orders(word: Sequence[object]) -> int:
    """The number of different orders of its letters: n! / Π m!."""
    return math.factorial(len(word)) // math.prod(math.factorial(count) for count in Counter(word).values())


def run(budget: Budget) -> Finding:
    longest, steps = budget.pick(tiny=4, quick=8, full=12), budget.pick(tiny=10, quick=450, full=2000)
    residuals = {name: [encoder_residual(tree, seed) for seed in budget.seeds] for name, tree in ENCODERS.items()}
    settings: Tree = {
        "data": {
            "lengths": f"1-{longest}",
            "examples": budget.pick(tiny=300, quick=10_000, full=20_000),
            "dev_examples": budget.pick(tiny=10, quick=200, full=1000),
            "test_examples": budget.pick(tiny=10, quick=1000, full=1000),
        },
        "model": {"width": budget.pick(tiny=16, quick=64, full=128), "dropout": 0.0},
        "training": {
            "steps": steps,
            "batch_tokens": budget.pick(tiny=128, quick=512, full=1024),
            "rate": budget.pick(tiny=4e-3, quick=4e-3, full=2e-3),
            "schedule": "cosine",
            "metric": "loss",
            "evaluate_every": max(steps // 4, 1),
        },
    }
    jobs = {
        f"{task}, {model}": merge(settings, {"data": {"corpus": task}, "model": MODELS[model]})
        for task, model in TRAININGS
    }
    exact = budget.compare("order", exact_match, jobs)
    best = ceiling(range(1, longest + 1))
    return Finding(
        experiment=f"Encoders of three layers (width {WIDTH}, untrained, double precision) read {LENGTH} tokens x, and "
        "the same in another order s: how far f(s(x)) is from s(f(x)), as a share of the largest output. Then the RNN "
        "with attention and the in-between model, an encoder of attention alone with an LSTM as decoder, learn three "
        f"tasks for {steps:,} steps each: to sort 1 to {longest} letters (order does not matter), to translate dates "
        "to French (it matters in 3/4/1961) and to reverse letters (nothing else matters: without it a model is right "
        f"in {best:.1f} % at most).",
        tables=(_residual_table(residuals), _exact_table(exact)),
        figures=(_residual_bars(residuals), _exact_bars(exact)),
        verdicts=_verdicts(residuals, exact),
        numbers={"residuals": residuals, "exact match": exact, "ceiling without order": best},
    )


def _verdicts(residuals: dict[str, list[float]], exact: dict[str, list[float]]) -> tuple[Verdict, ...]:
    least = {name: min(values) for name, values in residuals.items() if name != UNORDERED}
    weakest = min(least, key=lambda name: least[name])
    gaps = {
        task: [ours - theirs for ours, theirs in zip(exact[f"{task}, {RNN}"], exact[f"{task}, {BETWEEN}"], strict=True)]
        for task in TASKS
    }
    matters = [with_order - without for with_order, without in zip(gaps[REVERSE], gaps[SORT], strict=True)]
    return (
        bound("f(s(x)) = s(f(x)) for self-attention", max(residuals[UNORDERED]), at_most=PRECISION),
        margin(
            f"all kinds of positions and a causal mask break it (weakest: {weakest.removeprefix('… ')})",
            residuals[weakest],
            "of the largest output",
            more_than=0.01,
        ),
        margin("the in-between model is below the RNN on dates", gaps[DATES], "points", more_than=2),
        margin("and on reverse, where only order matters", gaps[REVERSE], "points", more_than=2),
        margin("because of the order: on sort the gap is smaller than on reverse", matters, "points", 2),
    )


def _residual_table(residuals: dict[str, list[float]]) -> Table:
    rows = tuple((name, f"{max(values):.2g}") for name, values in residuals.items())
    return Table(("encoder", "distance of f(s(x)) from s(f(x)), largest"), rows)


def _exact_table(exact: dict[str, list[float]]) -> Table:
    rows = [
        (model, *(mean_range(exact[name]) if (name := f"{task}, {model}") in exact else "" for task in TASKS))
        for model in MODELS
    ]
    return Table(("exact match, %", *TASKS), tuple(rows))


def _residual_bars(residuals: dict[str, list[float]]) -> str:
    entries = [
        Bar(name, mean(values), min(values), max(values), f"{mean(values):.2g}", COLOURS[0 if name == UNORDERED else 1])
        for name, values in residuals.items()
    ]
    return bar_chart(
        "distance of f(s(x)) from s(f(x))", entries, Axis("share of the largest output", log=True, low=1e-17)
    )


def _exact_bars(exact: dict[str, list[float]]) -> str:
    colours = dict(zip(MODELS, COLOURS, strict=False))
    entries = [
        Bar(name, mean(values), min(values), max(values), colour=colours[name.split(", ", 1)[1]])
        for name, values in exact.items()
    ]
    return bar_chart("exact match on unseen sources", entries, Axis("%", low=0, high=100))


LESSON = Lesson(
    name="order",
    claim="Self-attention is permutation equivariant; positions or a causal mask break it, and without them a model "
    "does not quite reach the RNN with attention where order matters.",
    after="the lectures on self-attention: f(s(x)) = s(f(x)); the in-between model",
    run=run,
    formula="s(P X) = P s(X) for every permutation P of the words",
    model=("words", "embeddings", "self-attention, no positions", "LSTM that attends", "words"),
)
