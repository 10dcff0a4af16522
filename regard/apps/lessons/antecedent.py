"""Who is "she"? One layer of self-attention that must read a name off the pronoun's own state learns to look for it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, margin, mean_range
from regard.config import DataSettings, ModelPlan
from regard.data.embedded.stories import Story, stories
from regard.data.embedded.world import PEOPLE
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.models.classifier import ClassifierModel
from regard.nn.taps import watching
from regard.plotting import COLOURS, Axis, HeatMap, Line, Panel, Points, heat_map, line_chart

WIDTH, HEADS, BATCH, RATE = 64, 4, 48, 2e-3
NAMES = sorted(PEOPLE)
SINGLE = ("she", "he")
CLEAR = 0.3  # of a head's weight above chance, which counts as a head that learnt it
WORD = re.compile(r"\w+|[.?]")
PAD = 0


@dataclass(frozen=True)
class Reference:
    """The words of a story, the place of a pronoun, that of the name it stands for, and the name."""

    words: tuple[str, ...]
    pronoun: int
    antecedent: int
    name: str


@dataclass(frozen=True)
class Resolved:
    """Of unseen stories: names right in %, each head's mean weight on the antecedent, that by chance, and one map."""

    accuracy: float
    weights: list[float]
    chance: float
    curve: Points
    shown: tuple[str, ...]
    rows: list[list[float]]  # of the pronoun, by head
    pronoun: int


def references(told: list[Story]) -> list[Reference]:
    """Every pronoun of one person."""
    found = []
    for story in told:
        spans = [match.span() for match in WORD.finditer(story.text)]
        words = tuple(story.text[start:end] for start, end in spans)
        at = {start: index for index, (start, _) in enumerate(spans)}
        found += [
            Reference(words, at[pronoun.where.start], at[pronoun.antecedent_where.start], pronoun.antecedent)
            for pronoun in story.pronouns
            if pronoun.word in SINGLE
        ]
    return found


def batch_of(rows: list[Reference], ids: dict[str, int]) -> tuple[Tensor, Tensor, Tensor]:
    """Ids (B, S), the places of the pronouns (B,) and the names (B,)."""
    longest = max(len(row.words) for row in rows)
    source = torch.full((len(rows), longest), PAD)
    for index, row in enumerate(rows):
        source[index, : len(row.words)] = torch.tensor([ids[word.lower()] for word in row.words])
    names = torch.tensor([NAMES.index(row.name) for row in rows])
    return source, torch.tensor([row.pronoun for row in rows]), names


@dataclass(frozen=True)
class Job:
    steps: int
    stories: int
    seed: int


def resolve_pronouns(job: Job) -> Resolved:
    """Train one layer, then look at what its heads attend to from pronouns in other stories."""
    told = stories(
        DataSettings(corpus="stories", examples=job.stories, dev_examples=300, test_examples=10, seed=job.seed)
    )
    train, unseen = references(told["train"]), references(told["dev"])
    words = sorted({word.lower() for row in (*train, *unseen) for word in row.words})
    ids = {word: index for index, word in enumerate(words, start=1)}
    config = ModelPlan(decoder="none", depth=1, heads=HEADS, width=WIDTH, positions="learned", max_positions=80)
    model = fuse(build_model(config, len(ids) + 1, len(NAMES), False, job.seed))
    assert isinstance(model, ClassifierModel)
    optimizer = torch.optim.Adam(model.parameters(), RATE, betas=(0.9, 0.98))
    generator = torch.Generator().manual_seed(job.seed)
    curve: Points = []
    for step in range(job.steps):
        optimizer.param_groups[0]["lr"] = RATE * min(1.0, (step + 1) / 100, 4 * (1 - step / job.steps))
        rows = [train[index] for index in torch.randint(len(train), (BATCH,), generator=generator).tolist()]
        source, place, names = batch_of(rows, ids)
        optimizer.zero_grad()
        F.cross_entropy(logits_at(model, source, place), names).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % max(job.steps // 10, 1) == 0:
            curve.append((step + 1, _accuracy(model, unseen, ids)))
    return _looked(model.eval(), unseen, ids, curve)


def logits_at(model: ClassifierModel, source: Tensor, place: Tensor) -> Tensor:
    """The name by one linear layer from the output at the pronoun: (B, S), (B,) → (B, NAMES)."""
    states = model.encoder(source, source != PAD).states
    return model.output(states[torch.arange(len(source)), place])


@torch.inference_mode()
def _accuracy(model: ClassifierModel, unseen: list[Reference], ids: dict[str, int]) -> float:
    source, place, names = batch_of(unseen, ids)
    return 100 * (logits_at(model, source, place).argmax(-1) == names).float().mean().item()


def _looked(model: ClassifierModel, unseen: list[Reference], ids: dict[str, int], curve: Points) -> Resolved:
    source, place, _ = batch_of(unseen, ids)
    with torch.inference_mode(), watching(model) as watch:
        logits_at(model, source, place)
    weights = watch.tensors()["encoder.layers.0.self_attention.weights"]  # (B, H, S, S)
    from_pronoun = weights[torch.arange(len(unseen)), :, place]  # (B, H, S)
    antecedent = torch.tensor([row.antecedent for row in unseen])
    on_name = from_pronoun[torch.arange(len(unseen)), :, antecedent].mean(0)  # (H,)
    shown = min(unseen, key=lambda row: (abs(len(row.words) - 14), row.words))
    index = unseen.index(shown)
    return Resolved(
        accuracy=_accuracy(model, unseen, ids),
        weights=on_name.tolist(),
        chance=sum(1 / len(row.words) for row in unseen) / len(unseen),
        curve=curve,
        shown=shown.words,
        rows=from_pronoun[index, :, : len(shown.words)].tolist(),
        pronoun=shown.pronoun,
    )


def run(budget: Budget) -> Finding:
    steps = budget.pick(tiny=10, quick=700, full=3000)
    made = budget.pick(tiny=200, quick=6000, full=20_000)
    answers = budget.pool.run("antecedent", resolve_pronouns, [Job(steps, made, seed) for seed in budget.seeds])
    rows = [
        (
            f"seed {seed}",
            f"{answer.accuracy:.1f}",
            *(f"{weight:.2f}" for weight in sorted(answer.weights, reverse=True)),
            f"{answer.chance:.2f}",
        )
        for seed, answer in zip(budget.seeds, answers, strict=True)
    ]
    titles = ("", "names, %", *(f"head {place}" for place in ("1st", "2nd", "3rd", "4th")), "by chance")
    lines = [Line("names right", answer.curve, COLOURS[0]) for answer in answers]
    panel = Panel("names right in %, a line for each seed", lines, x=Axis("steps", low=0), y=Axis(low=0, high=102))
    accuracy = mean_range([answer.accuracy for answer in answers])
    return Finding(
        experiment=f"One layer of self-attention with {HEADS} heads reads stories such as “Mary took the key. She "
        f"went to the garden.” and learns for {steps:,} steps to say who a pronoun stands for, by one linear layer "
        "from the pronoun's own output. Nothing says where the name is. The table has the weight of each head, from "
        f"the pronoun, on the antecedent in unseen stories; mean accuracy {accuracy} %.",
        tables=(Table(titles, tuple(rows)),),
        figures=(_map(answers[0]), line_chart("", [panel])),
        verdicts=(
            margin(
                "the best head puts more weight on the antecedent than chance",
                [max(answer.weights) - answer.chance for answer in answers],
                "of its weight",
                more_than=CLEAR,
            ),
        ),
        numbers={"seeds": [answer.__dict__ for answer in answers]},
    )


def _map(answer: Resolved) -> str:
    rows = tuple(f"head {head}" for head in range(1, len(answer.rows) + 1))
    title = f"from “{answer.shown[answer.pronoun]}”, word {answer.pronoun + 1}, to each word"
    return heat_map(HeatMap(title, [answer.rows], rows, answer.shown))


LESSON = Lesson(
    name="antecedent",
    claim="Self-attention learns to connect a pronoun with the name it stands for, if the name is read from its "
    "output.",
    after="the lectures' example of self-attention, “it” and what it stands for; Clark et al. 2019",
    run=run,
    formula="y_she = Σ_j softmax_j(q_she · k_j / √K) v_j     name = softmax(W y_she + b)",
    model=("words of a story", "embeddings + positions", "self-attention, 1 layer", "output at the pronoun", "a name"),
)
