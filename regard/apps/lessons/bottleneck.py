"""Bahdanau 2015, figure 2: one fixed vector loses long inputs, attention does not."""

from __future__ import annotations

from statistics import mean

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, margin, mean_range
from regard.apps.lessons.reverse_task import reverse_task
from regard.apps.lessons.training import greedy_report, trained
from regard.config import Tree, merge
from regard.plotting import COLOURS, Axis, Line, Panel, Points, line_chart

FIXED, ATTENTION = ("fixed vector", "fixed, at every step"), ("additive attention", "Transformer")
MODELS: dict[str, Tree] = {
    FIXED[0]: {"model": {"preset": "lstm-fixed"}},
    FIXED[1]: {"model": {"preset": "rnn-fixed-every-step", "cell": "lstm"}},
    ATTENTION[0]: {"model": {"preset": "lstm-additive"}},
    ATTENTION[1]: {"model": {"preset": "transformer", "depth": 2}},
}


def accuracy_by_length(settings: Tree) -> Points:
    """Train, then (length, exact match in %) of held-out words, greedy."""
    with trained(settings) as model:
        report = greedy_report(model)
    return [((bucket["shortest"] + bucket["longest"]) / 2, bucket["exact"]) for bucket in report["by_length"]]


def run(budget: Budget) -> Finding:
    longest = budget.pick(tiny=6, quick=16, full=20)
    steps = budget.pick(tiny=20, quick=700, full=5000)
    task = reverse_task(budget, longest, steps)
    curves = budget.compare(
        "bottleneck", accuracy_by_length, {name: merge(task, tree) for name, tree in MODELS.items()}
    )

    def at(name: str, long: bool) -> list[float]:
        """Exact match on the shortest or the longest third of the lengths, seed by seed."""
        return [
            mean(exact for length, exact in curve if (length > longest * 2 / 3 if long else length <= longest / 3))
            for curve in curves[name]
        ]

    best_fixed = [max(pair) for pair in zip(*(at(name, long=True) for name in FIXED), strict=True)]
    verdicts = [
        margin(
            f"{name} is above every fixed vector on the longest third",
            [ours - theirs for ours, theirs in zip(at(name, long=True), best_fixed, strict=True)],
            "points",
            more_than=10,
        )
        for name in ATTENTION
    ]
    rows = [(name, *(mean_range(at(name, long)) for long in (False, True))) for name in MODELS]
    lines = [Line(name, curve, COLOURS[index]) for index, name in enumerate(MODELS) for curve in curves[name]]
    figure = Panel(
        "exact match in %, a line for each seed", lines, x=Axis("letters of the source"), y=Axis(low=0, high=102)
    )
    return Finding(
        experiment=f"Four models of one width learn to reverse words of 1 to {longest} letters for {steps:,} steps; "
        "exact match on unseen words, by length.",
        tables=(Table(("model", f"up to {longest // 3} letters, %", "the longest third, %"), tuple(rows)),),
        figures=(line_chart("", [figure]),),
        verdicts=tuple(verdicts),
        numbers={"exact match by length": curves},
    )


LESSON = Lesson(
    name="bottleneck",
    claim="One fixed vector loses long inputs; attention does not.",
    after="Bahdanau, Cho & Bengio 2015, figure 2",
    run=run,
    formula="fixed: s_0 = tanh(W h_T)     attention: c_t = Σ_i softmax_i(score(h_i, s_(t-1))) h_i",
    model=("letters", "encoder", "one vector, or attention", "decoder", "letters, backwards"),
)
