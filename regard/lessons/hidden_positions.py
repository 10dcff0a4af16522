"""Haviv 2022: a causal Transformer that is told no positions still knows them, for it sees how much came before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from statistics import mean

from regard.analysis.probes import probe_positions
from regard.config import Tree, merge
from regard.drawing import COLOURS, Axis, Line, Panel, picture
from regard.lessons.contract import Finding, Lesson, Setting, Table, margin, mean_range
from regard.lessons.trials import trained

NONE = "no positions"
KINDS = {NONE: "none", "learned": "learned", "sinusoidal": "sinusoidal", "ALiBi": "alibi"}


@dataclass(frozen=True)
class Probed:
    """How far a linear probe is off the true position, layer by layer from the lowest, mean over unseen texts."""

    trained: list[float]
    untrained: list[float]
    bits: float  # of the language model, per character


def probed(settings: Tree, length: int, texts: int) -> Probed:
    """Train a language model; probe each layer on pieces of unseen texts, and the same model with random weights."""
    with trained(settings) as model:
        examples = model.run.examples("dev")
        unseen = pieces([example.target for example in examples], length)[:texts]
        untrained = model.untrained(settings["training"]["seed"])
        known, guessed = ([each.look("", text) for text in unseen] for each in (model, untrained))
        report = probe_positions(known, guessed)
        bits = model.evaluate(examples, model.search).as_dict()["bits_per_character"]
    distances = [(row.distance or 0.0, row.random_distance or 0.0) for row in report.rows]
    return Probed([own for own, _ in distances], [other for _, other in distances], bits)


def pieces(texts: list[str], length: int) -> list[str]:
    """Cut so that each fills `length` positions with the start mark: where a text begins says nothing of the place."""
    size = length - 1
    return [text[at : at + size] for text in texts for at in range(0, len(text) - size + 1, size)]


def constant_guess(length: int) -> float:
    """How far off the middle is on average, for who knows nothing of the position."""
    return mean(abs(place - length // 2) for place in range(length))


def run(setting: Setting) -> Finding:
    steps, depth = setting.pick(tiny=4, quick=300, full=2000), setting.pick(tiny=1, quick=3, full=4)
    length, texts = setting.pick(tiny=8, quick=40, full=64), setting.pick(tiny=20, quick=120, full=400)
    few = {"examples": 40, "dev_examples": 10, "test_examples": 2}
    settings: Tree = {
        "data": {"corpus": "prose", **setting.pick(tiny=few, quick={}, full={})},
        "model": {
            "preset": "transformer-language",
            "depth": depth,
            "width": setting.pick(tiny=16, quick=64, full=128),
            "dropout": 0.0,
        },
        "training": {
            "steps": steps,
            "batch_tokens": setting.pick(tiny=256, quick=2048, full=4096),
            "rate": 2e-3,
            "schedule": "cosine",
            "evaluate_every": max(steps // 3, 1),
        },
    }
    jobs = {name: merge(settings, {"model": {"positions": kind}}) for name, kind in KINDS.items()}
    found = setting.compare("hidden-positions", partial(probed, length=length, texts=texts), jobs)
    blind = constant_guess(length)
    best = [min(one.trained) for one in found[NONE]]
    return Finding(
        experiment=f"Causal language models of {depth} layers learn English prose character by character for {steps:,} "
        f"steps. Then a linear probe reads the position (of {length}) off the states of each layer, on {texts} pieces "
        "of unseen text, a fifth of them held out from the probe; how far it is off, on average.",
        tables=(_table(found, depth, blind),),
        figures=(_figure(found, depth, length, blind),),
        verdicts=(
            margin(
                "without positions the best layer knows them: it is off by less than half of a constant guess",
                [blind / 2 - off for off in best],
                "positions less",
            ),
            margin(
                "and has learned to: the same model with random weights is further off",
                [min(one.untrained) - off for one, off in zip(found[NONE], best, strict=True)],
                "positions",
                more_than=1,
            ),
        ),
        numbers={
            "constant guess": blind,
            "off by": {name: [one.trained for one in each] for name, each in found.items()},
            "off by, random weights": {name: [one.untrained for one in each] for name, each in found.items()},
            "bits per character": {name: [one.bits for one in each] for name, each in found.items()},
        },
    )


def _table(found: dict[str, list[Probed]], depth: int, blind: float) -> Table:
    rows = []
    for name, each in found.items():
        for trained_too, label in ((True, name), (False, f"{name}, random weights")):
            layers = zip(*(one.trained if trained_too else one.untrained for one in each), strict=True)
            bits = mean_range([one.bits for one in each], 2) if trained_too else ""
            rows.append((label, *(mean_range(values, 2) for values in layers), bits))
    rows.append(("always the middle", *[f"{blind:.2f}"] * depth, ""))
    titles = ("off by, in positions", *(f"layer {layer}" for layer in range(1, depth + 1)), "bits per character")
    return Table(titles, tuple(rows))


def _figure(found: dict[str, list[Probed]], depth: int, length: int, blind: float) -> str:
    layers = range(1, depth + 1)

    def line(name: str, values: list[list[float]], colour: str, dashed: bool) -> Line:
        means = [mean(layer) for layer in zip(*values, strict=True)]
        return Line(
            name, [(float(layer), value) for layer, value in zip(layers, means, strict=True)], colour, dashed=dashed
        )

    lines = []
    for colour, (name, each) in zip(COLOURS, found.items(), strict=False):
        lines.append(line(name, [one.trained for one in each], colour, False))
        lines.append(line(name, [one.untrained for one in each], colour, True))
    lines.append(Line("always the middle", [(1.0, blind), (float(depth), blind)], COLOURS[8]))
    title = f"off by so many of {length} positions, mean over seeds; dashed: random weights"
    return picture("", [Panel(title, lines, x=Axis("layer", low=0.8, high=depth + 0.2), y=Axis(low=0))])


LESSON = Lesson(
    name="hidden-positions",
    claim="A causal Transformer without positional encoding still knows positions.",
    after="Haviv, Ram, Press, Izsak & Levy 2022",
    run=run,
)
