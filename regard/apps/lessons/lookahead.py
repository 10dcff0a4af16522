"""Where a later word decides what a word means, the encoder has to be bidirectional."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.analysis.probes import fit
from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, differences, margin, mean_range
from regard.apps.lessons.training import trained_on
from regard.config import Tree, merge, plan_model, settle
from regard.data.examples import Example
from regard.data.sources import token_ids
from regard.data.vocabulary import EOS
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.models.classifier import ClassifierModel
from regard.pipeline import Pipeline
from regard.plotting import COLOURS, Axis, Bar, bar_chart

Kinds = dict[str, dict[str, float]]  # what was measured → where the clue stands → percent

# An English word, and each of its meanings in French with the words that decide for it.
MEANINGS: dict[str, dict[str, dict[str, str]]] = {
    "banks": {
        "rives": {"rivers": "rivières", "boats": "bateaux"},
        "banques": {"loans": "prêts", "coins": "pièces"},
    },
    "bats": {
        "vampires": {"caves": "cavernes", "wings": "ailes"},
        "battes": {"balls": "balles", "players": "joueurs"},
    },
    "springs": {
        "sources": {"wells": "puits", "lakes": "lacs"},
        "ressorts": {"beds": "lits", "clocks": "horloges"},
    },
    "seals": {
        "phoques": {"oceans": "océans", "fish": "poissons"},
        "sceaux": {"kings": "rois", "letters": "lettres"},
    },
    "nails": {
        "ongles": {"fingers": "doigts", "toes": "orteils"},
        "clous": {"hammers": "marteaux", "boards": "planches"},
    },
    "palms": {
        "paumes": {"hands": "mains", "wrists": "poignets"},
        "palmiers": {"beaches": "plages", "islands": "îles"},
    },
    "pupils": {
        "élèves": {"schools": "écoles", "teachers": "professeurs"},
        "pupilles": {"eyes": "yeux", "lamps": "lampes"},
    },
    "organs": {
        "orgues": {"churches": "églises", "choirs": "chorales"},
        "organes": {"surgeons": "chirurgiens", "livers": "foies"},
    },
}
BESIDE = {"with": "avec", "without": "sans", "behind": "derrière"}
QUALITIES = {"calm": "calmes", "strange": "étranges", "famous": "célèbres", "fragile": "fragiles", "rare": "rares"}
TIMES = {"yesterday": "hier", "often": "souvent", "always": "toujours", "once": "autrefois", "then": "alors"}
SENSES = [(word, meaning) for word, meanings in MEANINGS.items() for meaning in meanings]
EXAMPLE = "the banks were calm once with the rivers"
KINDS = ("later", "earlier")  # where the clue stands
LONGEST = 12  # tokens of a translation at most
CHANCE = 50.0  # a word alone leaves two meanings

LEFT_TO_RIGHT, BOTH_WAYS = "left to right", ("both ways", "self-attention")
NAMERS: dict[str, Tree] = {
    LEFT_TO_RIGHT: {"preset": "lstm-classifier", "direction": "forward"},
    "right to left": {"preset": "lstm-classifier", "direction": "backward"},
    BOTH_WAYS[0]: {"preset": "lstm-classifier", "direction": "both"},
    BOTH_WAYS[1]: {"preset": "transformer-classifier"},
}
TRANSLATORS: dict[str, Tree] = {
    LEFT_TO_RIGHT: {"preset": "lstm-additive", "direction": "forward"},
    "right to left": {"preset": "lstm-additive", "direction": "backward"},
    BOTH_WAYS[0]: {"preset": "lstm-additive", "direction": "both"},
    BOTH_WAYS[1]: {"preset": "attention-rnn", "positions": "sinusoidal"},
}
ROWS = 64  # sentences of a step in learning to name


@dataclass(frozen=True)
class Sentence:
    """A sentence with one word of two meanings; `later`: the clue stands after the word."""

    example: Example
    sense: int
    later: bool


def sentences() -> dict[str, Sentence]:
    """All of them, by source: the banks were calm once with the rivers / with the rivers the banks were calm once."""
    by_source = {}
    clues = [
        (sense, word, meaning, clue)
        for sense, (word, meaning) in enumerate(SENSES)
        for clue in MEANINGS[word][meaning].items()
    ]
    parts = product(clues, BESIDE.items(), QUALITIES.items(), TIMES.items(), (False, True))
    for (sense, word, meaning, clue), beside, quality, time, later in parts:
        sides = []
        for side, (the, were, thing) in enumerate((("the", "were", word), ("les", "étaient", meaning))):
            statement = f"{the} {thing} {were} {quality[side]} {time[side]}"
            clause = f"{beside[side]} {the} {clue[side]}"
            sides.append(f"{statement} {clause}" if later else f"{clause} {statement}")
        by_source[sides[0]] = Sentence(Example(*sides), sense, later)
    return by_source


def states_at_word(pipeline: Pipeline, examples: list[Example]) -> Tensor:
    """The encoder's state at the word of two meanings, sentence by sentence: (n, D)."""
    codec = pipeline.source_codec
    ids = [token_ids(source) for source in codec.encode_batch([example.source for example in examples])]
    positions = []
    for row in ids:
        words = [token.strip() for token in codec.source_tokens(row)]
        positions.append(next(index for index, word in enumerate(words) if word in MEANINGS))
    source = torch.tensor([[*row, EOS] for row in ids])  # every sentence has as many words
    with torch.inference_mode():
        states = pipeline.run.model.encode(source, torch.ones_like(source, dtype=torch.bool)).states
    return states[torch.arange(len(positions)), torch.tensor(positions)].clone()


def translated(settings: Tree) -> Kinds:
    """Train to translate; how often a linear probe of the state at the word finds its meaning, and how often the
    translation is right, in % of unseen sentences."""
    known = sentences()
    with trained_on([sentence.example for sentence in known.values()], settings) as pipeline:
        dev, test = pipeline.run.examples("dev"), pipeline.run.examples("test")
        labels = torch.tensor([known[example.source].sense for example in dev])
        fitting, states = states_at_word(pipeline, dev), states_at_word(pipeline, test)
        mean, spread = fitting.mean(0), fitting.std(0).clamp_min(1e-6)
        weights = fit((fitting - mean) / spread, labels, len(SENSES))
        guesses = (F.pad((states - mean) / spread, (0, 1), value=1.0) @ weights).argmax(-1).tolist()
        search = pipeline.search_with(beams=1, max_tokens=LONGEST)
        results = pipeline.translate_all([example.source for example in test], search)
    unseen = [known[example.source] for example in test]
    probed = [guess == sentence.sense for guess, sentence in zip(guesses, unseen, strict=True)]
    right = [result.text == sentence.example.target for result, sentence in zip(results, unseen, strict=True)]
    return {"probe": by_kind(unseen, probed), "translation": by_kind(unseen, right)}


def named(settings: Tree) -> Kinds:
    """Train an encoder so that one linear layer on its state at the word names the meaning: % of unseen sentences."""
    known, training = list(sentences().values()), settings["training"]
    random.Random("lookahead").shuffle(known)
    words = [sentence.example.source.split() for sentence in known]
    vocabulary = {word: index for index, word in enumerate(sorted({word for row in words for word in row}))}
    source = torch.tensor([[vocabulary[word] for word in row] for row in words])  # (n, 8)
    positions = torch.tensor([next(index for index, word in enumerate(row) if word in MEANINGS) for row in words])
    senses = torch.tensor([sentence.sense for sentence in known])
    config = plan_model(settle({"model": settings["model"]}).model)
    model = fuse(build_model(config, len(vocabulary), len(SENSES), False, training["seed"]))
    assert isinstance(model, ClassifierModel)

    def logits(rows: Tensor) -> Tensor:
        states = model.encode(source[rows], torch.ones_like(source[rows], dtype=torch.bool)).states
        return model.output(states[torch.arange(len(rows)), positions[rows]])

    optimizer = torch.optim.Adam(model.parameters(), lr=training["rate"])
    generator = torch.Generator().manual_seed(training["seed"])
    held_out = settings["data"]["test_examples"]
    for _ in range(training["steps"]):
        rows = torch.randint(held_out, len(known), (ROWS,), generator=generator)
        optimizer.zero_grad()
        F.cross_entropy(logits(rows), senses[rows]).backward()
        optimizer.step()
    with torch.inference_mode():
        guesses = logits(torch.arange(held_out)).argmax(-1)
    return {"named": by_kind(known[:held_out], (guesses == senses[:held_out]).tolist())}


def by_kind(unseen: list[Sentence], right: list[bool]) -> dict[str, float]:
    """Percent right where the clue stands before the word, and where it stands after it."""
    answer = {}
    for kind, later in (("earlier", False), ("later", True)):
        matches = [correct for sentence, correct in zip(unseen, right, strict=True) if sentence.later == later]
        answer[kind] = 100 * sum(matches) / len(matches)
    return answer


def run(budget: Budget) -> Finding:
    steps = budget.pick(tiny=10, quick=300, full=2000)
    held_out = budget.pick(tiny=80, quick=800, full=800)
    width = budget.pick(tiny=16, quick=64, full=128)
    task: Tree = {
        "data": {"dev_examples": held_out, "test_examples": held_out},
        "tokenizer": {"kind": "word", "shared": False},
        "model": {"width": width, "dropout": 0.0},
        "training": {"steps": steps, "batch_tokens": 512, "rate": 2e-3, "schedule": "cosine", "metric": "loss"},
    }
    naming = budget.compare("lookahead, naming", named, _with(task, NAMERS))
    translating = budget.compare("lookahead, translating", translated, _with(task, TRANSLATORS))

    def of(name: str, what: str, kind: str) -> list[float]:
        answers = naming if what == "named" else translating
        return [answer[what][kind] for answer in answers[name]]

    verdicts = [
        margin(
            f"{name}: the state at the word holds a meaning that a later word decides, above left to right",
            differences(of(name, "named", "later"), of(LEFT_TO_RIGHT, "named", "later")),
            "points",
            more_than=20,
        )
        for name in BOTH_WAYS
    ]
    control = [accuracy - CHANCE for accuracy in of(LEFT_TO_RIGHT, "named", "earlier")]
    about = "control: left to right it holds a meaning that an earlier word decided, above chance"
    verdicts.append(margin(about, control, "points", more_than=20))
    columns = [(what, kind) for what in ("named", "probe", "translation") for kind in ("earlier", "later")]
    rows = [(name, *(mean_range(of(name, *column), digits=0) for column in columns)) for name in NAMERS]
    return Finding(
        experiment=f"In sentences like “{EXAMPLE}” a clue before or after one of {len(MEANINGS)} words decides which "
        f"of its two meanings is right. Named: an encoder, {width} wide, learns for {steps:,} steps to name it "
        f"by one linear layer on its state at the word; % of {held_out} unseen sentences, chance is {CHANCE:g} %. "
        "Beside it, the same kind of encoder in a translator with an attention decoder, which can attend to the clue "
        "itself: what a linear probe finds in the state at the word, and sentences translated right.",
        tables=(Table(("encoder", *(f"{what}, clue {kind}, %" for what, kind in columns)), tuple(rows)),),
        figures=(_figure({name: {kind: of(name, "named", kind) for kind in KINDS} for name in NAMERS}),),
        verdicts=tuple(verdicts),
        numbers={"naming": naming, "translating": translating},
    )


def _with(task: Tree, models: dict[str, Tree]) -> dict[str, Tree]:
    return {name: merge(task, {"model": fields}) for name, fields in models.items()}


def _figure(named: dict[str, dict[str, list[float]]]) -> str:
    entries = []
    for kind, colour in zip(KINDS, COLOURS, strict=False):
        for name, accuracies in named.items():
            mean, low, high = (
                sum(accuracies[kind]) / len(accuracies[kind]),
                min(accuracies[kind]),
                max(accuracies[kind]),
            )
            entries.append(Bar(f"{name}, clue {kind}", mean, low, high, f"{mean:.1f} %", colour))
    axis = Axis("meaning right by the state at the word, in %", low=0, high=100)
    return bar_chart("does the state at the word hold its meaning?", entries, axis)


LESSON = Lesson(
    name="lookahead",
    claim="Where the meaning of a word is decided later in the sentence, its state holds it in a bidirectional "
    "encoder, and not in one that reads left to right.",
    after="“I arrived at the bank after crossing the …”; Schuster & Paliwal 1997; Bahdanau, Cho & Bengio 2015, 3.2",
    run=run,
    formula="both ways: h_i = [→h_i, ←h_i]     left to right: h_i = →h_i",
    model=("a sentence", "encoder", "state of the word", "a linear layer", "its meaning"),
)
