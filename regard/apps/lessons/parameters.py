"""The lecture's exercise: how many parameters does attention have, and what do they depend on?"""

from __future__ import annotations

import torch

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, Verdict
from regard.nn.attention import MultiHeadAttention
from regard.plotting import COLOURS, Axis, Line, Panel, line_chart

WIDTH, LENGTHS = 10, (1, 2, 5, 10, 50, 100, 1000)


def run(budget: Budget) -> Finding:
    attention = MultiHeadAttention(WIDTH, WIDTH, heads=1, layout="split", dropout=0.0)
    projections = (attention.query_proj, attention.key_proj, attention.value_proj)
    exercise = sum(projection.weight.numel() for projection in projections)
    counts = {}
    for length in LENGTHS:
        states = torch.randn(1, length, WIDTH, generator=torch.Generator().manual_seed(1))
        attention(states, *attention.prepare(states))  # the same weights serve every length
        counts[length] = sum(projection.weight.numel() for projection in projections)
    across_positions = {length: (length * WIDTH) ** 2 for length in LENGTHS}  # one linear layer over the whole input
    rows = tuple((f"{length:,}", f"{counts[length]:,}", f"{across_positions[length]:,}") for length in LENGTHS)
    lines = [
        Line("W_q, W_k and W_v", list(counts.items()), COLOURS[0]),
        Line("one linear layer", list(across_positions.items()), COLOURS[1]),
    ]
    panel = Panel("parameters by length", lines, x=Axis("length", log=True), y=Axis(log=True))
    return Finding(
        experiment=f"One head of width {WIDTH} is applied to inputs of 1 to {LENGTHS[-1]:,} vectors, and its "
        "parameters are counted; beside it a linear layer from all positions to all positions.",
        tables=(Table(("length", "W_q, W_k, W_v together", "one linear layer over all positions"), rows),),
        figures=(line_chart("", [panel]),),
        verdicts=(
            Verdict("the exercise's answer is 300", exercise == 300, f"{exercise} for width {WIDTH}"),
            Verdict(
                "the number is the same at every length",
                len(set(counts.values())) == 1,
                f"{sorted(set(counts.values()))}",
            ),
        ),
        numbers={"exercise": exercise, "attention": counts, "linear": across_positions},
    )


LESSON = Lesson(
    name="parameters",
    claim="Attention's parameters do not depend on the length of the input.",
    after="the lectures' exercise: width 10, one head",
    run=run,
    formula="W_Q, W_K, W_V: 3 · 10 · 10 = 300, whatever the length",
    model=("x_1 … x_n, width 10", "Q, K, V", "softmax(Q Kᵀ/√10) V"),
)
