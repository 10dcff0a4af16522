"""Vaswani 2017, 3.2.2: several heads with equally many parameters as one, and what each of them attends to."""

from __future__ import annotations

from collections.abc import Iterator

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, Verdict, bound, differences, margin, mean_range
from regard.apps.lessons.neighbours import LENGTH, OFFSETS, WIDTH, EncoderStack, Named, name_neighbours
from regard.plotting import COLOURS, Axis, HeatMap, Line, Panel, heat_map, line_chart

HEADS, DRAWN = (1, 2, 4, 8), 4  # those that are compared, and the one whose heads are drawn
STACK = "1 head, 3 layers"
WANTED = 80.0  # percent of the neighbours: what one head in three layers must reach


def run(budget: Budget) -> Finding:
    steps = budget.pick(tiny=10, quick=1500, full=4000)
    shapes = {_name(heads): (1, heads) for heads in HEADS} | {STACK: (3, 1)}
    jobs = [EncoderStack(layers, heads, steps, seed) for layers, heads in shapes.values() for seed in budget.seeds]
    found = iter(budget.pool.run("heads", name_neighbours, jobs))
    answers = {name: [next(found) for _ in budget.seeds] for name in shapes}
    rows = [
        (
            name,
            mean_range([answer.accuracy for answer in runs]),
            mean_range([answer.distance for answer in runs], 2) if shapes[name][1] > 1 else "",
            f"{runs[0].parameters:,}",
        )
        for name, runs in answers.items()
    ]
    return Finding(
        experiment=f"Among {LENGTH} random letters one is marked. A Transformer encoder, {WIDTH} wide, learns for "
        f"{steps:,} steps to name the {len(OFFSETS)} letters around it from the output at its place. The heads of a "
        "layer share its width, so a layer has equally many parameters with any number of them. The distance of two "
        "heads "
        "is the share of the weight of the marked place that is on different letters.",
        tables=(Table(("model", "letters, %", "distance of heads", "parameters"), tuple(rows)),),
        figures=(drawn_heads(answers[_name(DRAWN)][0]), _figure(answers)),
        verdicts=tuple(_verdicts(answers)),
        numbers={name: [answer.__dict__ for answer in runs] for name, runs in answers.items()},
    )


def _name(heads: int) -> str:
    return f"{heads} head{'s' * (heads > 1)}"


def _verdicts(answers: dict[str, list[Named]]) -> Iterator[Verdict]:
    accuracy = {name: [answer.accuracy for answer in runs] for name, runs in answers.items()}
    for heads in HEADS[2:]:
        apart = differences(accuracy[_name(heads)], accuracy[_name(1)])
        yield margin(f"{_name(heads)} in one layer name more than one head", apart, "points", more_than=30)
    missed = 100 - min(accuracy[STACK])
    yield bound("one head in three layers does, too: missed in %", missed, 100 - WANTED)
    counts = {answer.parameters for heads in HEADS for answer in answers[_name(heads)]}
    yield Verdict(
        "one layer has equally many parameters with 1, 2, 4 and 8 heads",
        len(counts) == 1,
        ", ".join(f"{count:,}" for count in sorted(counts)),
    )


def drawn_heads(answer: Named) -> str:
    """Where each head of each layer looks from the marked place of one example."""
    labels = tuple(letter.upper() if place == answer.place else letter for place, letter in enumerate(answer.letters))
    rows, weights = [], []
    for layer, heads in enumerate(answer.weights, start=1):
        for head, row in enumerate(heads, start=1):
            rows.append(f"layer {layer}, head {head}" if len(answer.weights) > 1 else f"head {head}")
            weights.append(row)
    neighbours = " ".join(answer.letters[answer.place + offset] for offset in OFFSETS)
    title = f"from the marked {answer.letters[answer.place].upper()}: its neighbours are {neighbours}"
    return heat_map(HeatMap(title, [weights], tuple(rows), labels))


def _figure(answers: dict[str, list[Named]]) -> str:
    lines = [
        Line(name, answer.curve, colour)
        for colour, (name, runs) in zip(COLOURS, answers.items(), strict=False)
        for answer in runs
    ]
    title = "letters named right in %, a line for each seed"
    return line_chart("", [Panel(title, lines, x=Axis("steps", low=0), y=Axis(low=0, high=102))])


LESSON = Lesson(
    name="heads",
    claim="With equally many parameters several heads see what one head cannot: each can attend to another letter.",
    after="Vaswani et al. 2017, 3.2.2 and table 3 (A)",
    run=run,
    formula="head_h = softmax(X W_Qʰ (X W_Kʰ)ᵀ / √(m/H)) X W_Vʰ     y = [head_1 … head_H] W_O",
    model=("20 letters", "embeddings", "self-attention, H heads", "output at the mark", "4 letters"),
)
