"""He 2016, Vaswani 2017, 3.1: with residual connections a deep encoder learns, and without them it does not."""

from __future__ import annotations

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, differences, margin, mean_range
from regard.apps.lessons.neighbours import LENGTH, OFFSETS, WIDTH, EncoderStack, Named, name_neighbours
from regard.plotting import COLOURS, Axis, Line, Panel, line_chart

HEADS = 4
WITH, WITHOUT = "x + f(x)", "f(x) alone"


def run(budget: Budget) -> Finding:
    steps = budget.pick(tiny=10, quick=500, full=2000)
    depths = budget.pick(tiny=(1, 2), quick=(1, 8), full=(1, 4, 8, 16))
    shapes = [(name, depth) for name in (WITH, WITHOUT) for depth in depths]
    jobs = [EncoderStack(depth, HEADS, steps, seed, name == WITH) for name, depth in shapes for seed in budget.seeds]
    found = iter(budget.pool.run("residuals", name_neighbours, jobs))
    answers: dict[tuple[str, int], list[Named]] = {shape: [next(found) for _ in budget.seeds] for shape in shapes}
    accuracy = {shape: [answer.accuracy for answer in runs] for shape, runs in answers.items()}
    deep = depths[-1]
    lines = [
        Line(f"{name}, {depth} layer{'s' * (depth > 1)}", answer.curve, colour, dashed=depth != deep)
        for name, colour in zip((WITH, WITHOUT), COLOURS, strict=False)
        for depth in (depths[0], deep)
        for answer in answers[name, depth]
    ]
    rows = [(name, *(mean_range(accuracy[name, depth]) for depth in depths)) for name in (WITH, WITHOUT)]
    title = "letters named right in %, a line for each seed"
    return Finding(
        experiment=f"Among {LENGTH} random letters one is marked; Transformer encoders of {depths[0]} and {deep} "
        f"layers, {WIDTH} wide, with {HEADS} heads and layer norm, learn for {steps:,} steps to name the "
        f"{len(OFFSETS)} letters around it. In one of each kind nothing bypasses the sublayers. Chance is 4 %.",
        tables=(Table(("sublayers", *(f"{depth} layers, %" for depth in depths)), tuple(rows)),),
        figures=(line_chart("", [Panel(title, lines, x=Axis("steps", low=0), y=Axis(low=0, high=102))]),),
        verdicts=(
            margin(
                f"{deep} layers learn with residual connections, and not without",
                differences(accuracy[WITH, deep], accuracy[WITHOUT, deep]),
                "points",
                more_than=50,
            ),
        ),
        numbers={f"{name}, {depth} layers": values for (name, depth), values in accuracy.items()},
    )


LESSON = Lesson(
    name="residuals",
    claim="Residual connections let a deep encoder learn; without them the same encoder does not.",
    after="the lectures: why residual connections? He et al. 2016; Vaswani et al. 2017, 3.1",
    run=run,
    formula="with: x ← x + f(norm(x)), ∂/∂x = 1 + f′     without: x ← f(norm(x)), ∂/∂x = f′ · f′ · f′ …",
    model=("20 letters", "embeddings", "8 layers, with or without x +", "output at the mark", "4 letters"),
)
