"""Where a later word decides what a word means, an encoder has to read both ways."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.analysis.probes import fit
from regard.config import Tree, merge
from regard.data.records import Example
from regard.data.tokenizer import EOS
from regard.drawing import COLOURS, Axis, Bar, bars
from regard.lessons.contract import Finding, Lesson, Setting, Table, differences, margin, mean_range
from regard.lessons.trials import trained_on
from regard.pipeline import Pipeline

# An English word, and each of its meanings in French with the words that tell it.
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
LONGEST = 12  # tokens of a translation at most
CHANCE = 50.0  # a word alone leaves two meanings

LEFT_TO_RIGHT, BOTH_WAYS = "left to right", ("both ways", "self-attention")
ENCODERS: dict[str, Tree] = {
    LEFT_TO_RIGHT: {"preset": "lstm-additive", "direction": "forward"},
    "right to left": {"preset": "lstm-additive", "direction": "backward"},
    BOTH_WAYS[0]: {"preset": "lstm-additive", "direction": "both"},
    BOTH_WAYS[1]: {"preset": "attention-rnn", "positions": "sinusoidal"},
}


@dataclass(frozen=True)
class Sentence:
    """A sentence with one word of two meanings; `later`: what tells them apart stands behind the word."""

    example: Example
    sense: int
    later: bool


def sentences() -> dict[str, Sentence]:
    """All of them, by source: the banks were calm once with the rivers / with the rivers the banks were calm once."""
    found = {}
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
            place = f"{beside[side]} {the} {clue[side]}"
            sides.append(f"{statement} {place}" if later else f"{place} {statement}")
        found[sides[0]] = Sentence(Example(*sides), sense, later)
    return found


def states_at_word(pipeline: Pipeline, examples: list[Example]) -> Tensor:
    """The encoder's state at the word of two meanings, sentence by sentence: (n, D)."""
    ids = pipeline.source_tokenizer.encode_batch([example.source for example in examples])
    places = []
    for row in ids:
        words = [token.strip() for token in pipeline.source_tokenizer.tokens(row)]
        places.append(next(place for place, word in enumerate(words) if word in MEANINGS))
    source = torch.tensor([[*row, EOS] for row in ids])  # every sentence has as many words
    with torch.inference_mode():
        states = pipeline.model.encode(source, torch.ones_like(source, dtype=torch.bool)).states
    return states[torch.arange(len(places)), torch.tensor(places)].clone()


def understood(settings: Tree) -> dict[str, dict[str, float]]:
    """Train to translate; then how often a linear probe of the state at the word tells its meaning, and how often the
    translation has it, in % of unseen sentences."""
    known = sentences()
    with trained_on([one.example for one in known.values()], settings) as pipeline:
        dev, test = pipeline.run.examples("dev"), pipeline.run.examples("test")
        labels = torch.tensor([known[example.source].sense for example in dev])
        fitting, states = states_at_word(pipeline, dev), states_at_word(pipeline, test)
        mean, spread = fitting.mean(0), fitting.std(0).clamp_min(1e-6)
        weights = fit((fitting - mean) / spread, labels, len(SENSES))
        guesses = (F.pad((states - mean) / spread, (0, 1), value=1.0) @ weights).argmax(-1).tolist()
        found = pipeline.translate_all(
            [example.source for example in test], pipeline.search_with(beams=1, max_tokens=LONGEST)
        )
    answer = {}
    for later in (False, True):
        rows = [row for row, example in enumerate(test) if known[example.source].later == later]
        senses = {row: known[test[row].source].sense for row in rows}
        answer["later" if later else "earlier"] = {
            "state": 100 * sum(guesses[row] == sense for row, sense in senses.items()) / len(rows),
            "translation": 100 * sum(found[row].text == test[row].target for row in rows) / len(rows),
        }
    return answer


def run(setting: Setting) -> Finding:
    steps = setting.pick(tiny=10, quick=400, full=2000)
    held_out = setting.pick(tiny=80, quick=800, full=800)
    width = setting.pick(tiny=16, quick=64, full=128)
    task: Tree = {
        "data": {"dev_examples": held_out, "test_examples": held_out},
        "tokenizer": {"kind": "word", "shared": False},
        "model": {"width": width, "dropout": 0.0},
        "training": {"steps": steps, "batch_tokens": 512, "rate": 2e-3, "schedule": "cosine", "metric": "loss"},
    }
    trials = {name: merge(task, {"model": fields}) for name, fields in ENCODERS.items()}
    answers = setting.compare("lookahead", understood, trials)

    def of(name: str, clue: str, what: str) -> list[float]:
        return [one[clue][what] for one in answers[name]]

    verdicts = [
        margin(
            f"{name}: the state at the word knows what a later word decides better than left to right",
            differences(of(name, "later", "state"), of(LEFT_TO_RIGHT, "later", "state")),
            "points",
            more_than=20,
        )
        for name in BOTH_WAYS
    ]
    verdicts.append(
        margin(
            "left to right it is at chance there; from 10 points off",
            [10 - abs(accuracy - CHANCE) for accuracy in of(LEFT_TO_RIGHT, "later", "state")],
            "points",
        )
    )
    verdicts.append(
        margin(
            "control: left to right it does know what an earlier word decided, above chance",
            [accuracy - CHANCE for accuracy in of(LEFT_TO_RIGHT, "earlier", "state")],
            "points",
            more_than=20,
        )
    )
    columns = [(clue, what) for what in ("state", "translation") for clue in ("earlier", "later")]
    rows = [(name, *(mean_range(of(name, *column)) for column in columns)) for name in ENCODERS]
    titles = ("encoder", "state, clue earlier, %", "state, clue later, %", "translation, earlier, %", "later, %")
    return Finding(
        experiment=f"Four encoders, {width} wide, each with the same attentive LSTM decoder, learn for {steps:,} steps "
        f"to translate sentences like “{EXAMPLE}”, where a clue before or behind one of "
        f"{len(MEANINGS)} words decides which of its two meanings is right. A linear probe, fitted on {held_out} "
        "unseen sentences and tested on as many others, reads the meaning off the encoder's state at the word (chance "
        f"is {CHANCE:g} %). Beside it: sentences translated right; there the decoder may look at the clue itself.",
        tables=(Table(titles, tuple(rows)),),
        figures=(_figure(answers),),
        verdicts=tuple(verdicts),
        numbers={"percent right": answers},
    )


def _figure(answers: dict[str, list[dict[str, Any]]]) -> str:
    entries = []
    for clue, colour in (("later", COLOURS[1]), ("earlier", COLOURS[0])):
        for name in ENCODERS:
            values = [one[clue]["state"] for one in answers[name]]
            mean = sum(values) / len(values)
            entries.append(Bar(f"{name}, clue {clue}", mean, min(values), max(values), f"{mean:.1f} %", colour))
    axis = Axis("the meaning read off the state at the word, in %", low=0, high=100)
    return bars("does the state at the word know what the word means?", entries, axis)


LESSON = Lesson(
    name="lookahead",
    claim="Where the meaning of a word is decided later in the sentence, its state knows it in an encoder that reads "
    "both ways, and not in one that reads left to right.",
    after="“I arrived at the bank after crossing the …”; Schuster & Paliwal 1997; Bahdanau, Cho & Bengio 2015, 3.2",
    run=run,
)
