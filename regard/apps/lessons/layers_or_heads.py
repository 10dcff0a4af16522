"""The lectures: what several heads do in one layer, one head does in several layers. Heads save layers."""

from __future__ import annotations

from regard.apps.lessons.heads import drawn_heads
from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, differences, margin, mean_range
from regard.apps.lessons.neighbours import LENGTH, OFFSETS, WIDTH, EncoderStack, Named, name_neighbours
from regard.plotting import COLOURS, Axis, Line, Panel, line_chart

LAYERS, HEADS = (1, 2, 3), (1, 4)


def run(budget: Budget) -> Finding:
    steps = budget.pick(tiny=10, quick=1500, full=4000)
    shapes = [(layers, heads) for heads in HEADS for layers in LAYERS]
    jobs = [EncoderStack(layers, heads, steps, seed) for layers, heads in shapes for seed in budget.seeds]
    found = iter(budget.pool.run("layers-or-heads", name_neighbours, jobs))
    answers: dict[tuple[int, int], list[Named]] = {shape: [next(found) for _ in budget.seeds] for shape in shapes}
    accuracy = {shape: [answer.accuracy for answer in runs] for shape, runs in answers.items()}
    rows = [
        (f"{layers} layer{'s' * (layers > 1)}", *(mean_range(accuracy[layers, heads]) for heads in HEADS))
        for layers in LAYERS
    ]
    lines = [
        Line(f"{heads} head{'s' * (heads > 1)}", [(layers, accuracy[layers, heads][seed]) for layers in LAYERS], colour)
        for heads, colour in zip(HEADS, COLOURS, strict=False)
        for seed in range(len(budget.seeds))
    ]
    title = "letters named right in %, a line for each seed"
    return Finding(
        experiment=f"Among {LENGTH} random letters one is marked; an encoder, {WIDTH} wide, learns for {steps:,} steps "
        f"to name the {len(OFFSETS)} letters around it, with one head or four in 1 to 3 layers. The map shows where "
        "the one head of each of three layers looks from the marked place.",
        tables=(Table(("layers", "1 head, %", "4 heads, %"), tuple(rows)),),
        figures=(
            line_chart("", [Panel(title, lines, x=Axis("layers", low=1), y=Axis(low=0, high=102))]),
            drawn_heads(answers[LAYERS[-1], 1][0]),
        ),
        verdicts=(
            margin(
                "four heads in one layer are above one head in one layer",
                differences(accuracy[1, 4], accuracy[1, 1]),
                "points",
                more_than=30,
            ),
            margin(
                "one head in three layers is above one head in one layer",
                differences(accuracy[3, 1], accuracy[1, 1]),
                "points",
                more_than=30,
            ),
            margin(
                "four heads in one layer reach one head in three layers, to within 10 points",
                [10 + gap for gap in differences(accuracy[1, 4], accuracy[3, 1])],
                "points",
            ),
        ),
        numbers={f"{layers} layers, {heads} heads": values for (layers, heads), values in accuracy.items()},
    )


LESSON = Lesson(
    name="layers-or-heads",
    claim="Several heads save layers: what four heads see in one layer, one head sees in three.",
    after="the lectures on multi-head attention: many heads, or many layers",
    run=run,
    formula="1 layer, H heads: [head_1 … head_H] W_O     H layers, 1 head: X ← X + head(X), H times",
    model=("20 letters", "embeddings", "L layers of H heads", "output at the mark", "4 letters"),
)
