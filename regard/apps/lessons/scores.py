"""Ways to compare a query with a key (Bahdanau 2015, Luong 2015, Vaswani 2017, 3.2.1): learning and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import mean
from typing import Any

import torch

from regard.apps.lessons.complexity import cpu_seconds
from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, Verdict, differences, margin, mean_range
from regard.apps.lessons.reverse_task import reverse_task
from regard.apps.lessons.training import greedy_report, trained
from regard.apps.lessons.worker_pool import Progress
from regard.config import Tree, merge, plan_model, settle
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.models.recurrent import RecurrentDecoder
from regard.models.seq2seq import Seq2Seq
from regard.nn.taps import watching
from regard.plotting import COLOURS, Axis, Line, Panel, Points, line_chart
from regard.training.report import read_metrics

ADDITIVE, FIXED = "additive", "fixed vector"
SCORES = (ADDITIVE, "dot", "scaled-dot", "bilinear", "projected", "cosine")
PRESETS = {**{score: f"lstm-{score}" for score in SCORES}, FIXED: "lstm-fixed"}
WITHIN = 2.0  # points of exact match from the best that count as equally good
LEARNT = 90.0  # percent of development words, from which on a score counts as learnt
ROWS, LENGTH, VOCABULARY = 32, 32, 32  # of the batch that is timed


def learned(settings: Tree) -> dict[str, Any]:
    """Train; unseen words exactly right in %, greedy; the development loss by step, and the step from which on LEARNT
    percent are right there."""
    with trained(settings) as pipeline:
        report = greedy_report(pipeline)
        validations = [line for line in read_metrics(pipeline.run.path / "metrics.jsonl") if "dev" in line]
        parameters = pipeline.run.facts["parameters"]
    curve = [(line["step"], line["dev"]["loss"]) for line in validations]
    learnt = next((line["step"] for line in validations if line["dev"]["exact"] >= LEARNT), None)
    return {"exact": report["exact"]["value"], "curve": curve, "learnt": learnt, "parameters": parameters}


def costs(name: str, width: int) -> tuple[int, dict[str, Callable[[], None]]]:
    """Parameters of a score, and the work to be timed, forward and backward: the whole model as it trains; the same
    with the decoder's open loop for all scores; and attention alone with all queries at once, as in a Transformer.
    """
    config = plan_model(settle({"model": {"preset": PRESETS[name], "width": width, "dropout": 0.0}}).model)
    model = fuse(build_model(config, VOCABULARY, VOCABULARY, True, seed=1))
    assert isinstance(model, Seq2Seq) and isinstance(model.decoder, RecurrentDecoder)
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(4, VOCABULARY, (ROWS, LENGTH), generator=generator)
    queries, states = (torch.randn(ROWS, LENGTH, width, generator=generator).requires_grad_() for _ in range(2))
    real = torch.ones_like(source, dtype=torch.bool)
    attention = model.decoder.attention

    def step() -> None:
        model(source, real, source).logsumexp(-1).sum().backward()

    def step_in_the_open() -> None:
        with watching(model, record=False):
            step()

    def attend() -> None:
        assert attention is not None
        keys, values = attention.prepare(states)
        attention(queries, keys, values, None).sum().backward()

    if attention is None:
        return 0, {"step": step, "open": step_in_the_open}
    return sum(parameter.numel() for parameter in attention.parameters()), {
        "step": step,
        "open": step_in_the_open,
        "attention": attend,
    }


def run(budget: Budget) -> Finding:
    longest = budget.pick(tiny=4, quick=10, full=20)
    steps = budget.pick(tiny=10, quick=1500, full=5000)
    measured = {"metric": "exact", "evaluate_every": max(steps // 15, 10)}
    task = merge(reverse_task(budget, longest, steps), {"training": measured})
    width = task["model"]["width"]
    trials = {name: merge(task, {"model": {"preset": preset}}) for name, preset in PRESETS.items()}
    answers = budget.compare("scores", learned, trials)
    counts, seconds = _measured(width, budget.pick(tiny=2, quick=25, full=100), budget.pool.progress)
    exact = {name: [answer["exact"] for answer in runs] for name, runs in answers.items()}
    rows = [
        (
            name,
            mean_range(exact[name]),
            ", ".join(str(answer["learnt"] or "–") for answer in answers[name]),
            f"{counts[name]:,}" if name != FIXED else "",
            f"{1000 * seconds[name, 'attention']:.1f}" if name != FIXED else "",
            *(f"{ROWS * LENGTH / seconds[name, part]:,.0f}" for part in ("open", "step")),
        )
        for name in PRESETS
    ]
    titles = (
        "score",
        "words, %",
        f"steps until {LEARNT:g} %",
        "its parameters",
        "milliseconds",
        "tokens/s, open",
        "tokens/s",
    )
    return Finding(
        experiment=f"LSTM encoder-decoders, {width} wide, that differ in the score of their attention only, learn for "
        f"{steps:,} steps to write words of 1 to {longest} letters back to front; exact match on unseen words, beside "
        f"a decoder with one fixed vector. Time: one thread's processor time for {ROWS} words of {LENGTH} letters, "
        "forward and backward: of attention alone with all queries at once (milliseconds), and of the whole model "
        "(tokens/s, without the optimizer's step) with the decoder's open loop, and as it trains, where the additive "
        "score has a kernel of its own. Medians over interleaved rounds.",
        tables=(Table(titles, tuple(rows)),),
        figures=(_figure(answers),),
        verdicts=tuple(_verdicts(exact, seconds)),
        numbers={"learned": answers, "seconds": {" ".join(key): value for key, value in seconds.items()}},
    )


def _measured(width: int, rounds: int, progress: Progress) -> tuple[dict[str, int], dict[tuple[str, str], float]]:
    """Parameters of each score; seconds by score and part, in this process alone."""
    counted = {name: costs(name, width) for name in PRESETS}
    work = {(name, part): function for name, (_, parts) in counted.items() for part, function in parts.items()}
    seconds = cpu_seconds(work, rounds, "scores, time", progress)
    return {name: count for name, (count, _) in counted.items()}, seconds


def _verdicts(exact: dict[str, list[float]], seconds: dict[tuple[str, str], float]) -> Iterator[Verdict]:
    by_seed = list(zip(*(exact[score] for score in SCORES), strict=True))  # by seed
    yield margin(
        f"the worst score ends within {WITHIN:g} points of the best; margin",
        [WITHIN - (max(values) - min(values)) for values in by_seed],
        "points",
    )
    yield margin(
        "the worst score is above the fixed vector",
        differences([min(values) for values in by_seed], exact[FIXED]),
        "points",
        more_than=10,
    )
    ratio = seconds[ADDITIVE, "attention"] / seconds["scaled-dot", "attention"]
    yield margin("all queries at once, the additive score takes longer than the scaled dot", [ratio], "times", 2)


def _figure(answers: dict[str, list[dict[str, Any]]]) -> str:
    """Loss by step, the mean over seeds."""
    lines = []
    for colour, (name, runs) in zip(COLOURS, answers.items(), strict=False):
        curves: list[Points] = [answer["curve"] for answer in runs]
        points = [(losses[0][0], mean(loss for _, loss in losses)) for losses in zip(*curves, strict=False)]
        lines.append(Line(name, points, colour, dashed=name == FIXED))
    panel = Panel("loss on unseen words by step, mean over seeds", lines, x=Axis("steps", low=0), y=Axis(log=True))
    return line_chart("", [panel])


LESSON = Lesson(
    name="scores",
    claim="However queries and keys are compared, attention learns about equally well; the dot product is cheaper "
    "than the additive score.",
    after="Bahdanau, Cho & Bengio 2015; Luong, Pham & Manning 2015; Vaswani et al. 2017, 3.2.1",
    run=run,
    formula="additive vᵀtanh(W h + U s)   dot h·s   scaled h·s/√m   bilinear hᵀW s   projected (W₁h)·(W₂s)   cosine",
    model=("letters", "LSTM, both ways", "score, softmax, weighted sum", "LSTM decoder", "letters, backwards"),
)
