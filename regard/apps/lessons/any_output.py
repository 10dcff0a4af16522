"""The lectures: predictions can be made from any output vector. A tagger makes one from each of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, differences, margin, mean_range
from regard.apps.lessons.training import trained
from regard.config import Tree, merge
from regard.data.examples import Example
from regard.evaluation.simple_outputs import frequent_tags
from regard.plotting import Bar, bar_chart

MODELS = {"Transformer": "transformer-tagger", "LSTM, both ways": "lstm-tagger", "LSTM, left to right": "lstm-tagger"}
TABLE = "most frequent tag"


def ambiguous_words(examples: list[Example]) -> set[str]:
    """Words with more than one tag."""
    tags: dict[str, Counter[str]] = {}
    for example in examples:
        for word, tag in zip(example.source.split(), example.target.split(), strict=True):
            tags.setdefault(word, Counter())[tag] += 1
    return {word for word, counted in tags.items() if len(counted) > 1}


def tagged_right(examples: list[Example], outputs: list[str], words: set[str], shift: int = 0) -> float:
    """Percent of these words whose tag is right; `shift`: that of the output so many places to the right is taken."""
    right, count = 0, 0
    for example, output in zip(examples, outputs, strict=True):
        wanted, guessed = example.target.split(), output.split()
        for place, word in enumerate(example.source.split()):
            if word in words and place + shift < len(guessed):
                right += guessed[place + shift] == wanted[place]
                count += 1
    return 100 * right / max(count, 1)


def tag_words(job: Tree) -> dict[str, Any]:
    with trained(job) as pipeline:
        examples = pipeline.run.examples("test")
        outputs = [result.text for result in pipeline.translate_all([example.source for example in examples])]
        dev = pipeline.run.examples("dev")  # the held-out examples have the same words as those for training
    words = ambiguous_words([*examples, *dev])
    every = {word for example in examples for word in example.source.split()}
    table = frequent_tags(dev, [example.source for example in examples])
    return {
        "all": tagged_right(examples, outputs, every),
        "ambiguous": tagged_right(examples, outputs, words),
        "neighbour": tagged_right(examples, outputs, words, shift=1),
        "table": tagged_right(examples, table, words),
    }


def run(budget: Budget) -> Finding:
    steps = budget.pick(tiny=10, quick=200, full=1500)
    task: Tree = {
        "data": {
            "corpus": "parts-of-speech",
            "examples": budget.pick(tiny=200, quick=6000, full=12_000),
            "dev_examples": budget.pick(tiny=40, quick=1000, full=2000),
            "test_examples": budget.pick(tiny=40, quick=500, full=1000),
        },
        "model": {"width": 64, "dropout": 0.0},
        "training": {"steps": steps, "batch_tokens": 1024, "rate": 3e-3, "schedule": "cosine", "evaluate_every": steps},
    }
    trials = {
        name: merge(task, {"model": {"preset": preset}}, {"model": {"direction": "forward"}} if "right" in name else {})
        for name, preset in MODELS.items()
    }
    answers = budget.compare("any-output", tag_words, trials)
    got = {name: [answer["ambiguous"] for answer in runs] for name, runs in answers.items()}
    table = [answer["table"] for answer in answers["Transformer"]]
    rows = [
        (name, *(mean_range([answer[key] for answer in runs]) for key in ("all", "ambiguous", "neighbour")))
        for name, runs in answers.items()
    ]
    rows.append((TABLE, "", mean_range(table), ""))
    bars = [
        Bar(name, sum(values) / len(values), min(values), max(values)) for name, values in {**got, TABLE: table}.items()
    ]
    return Finding(
        experiment=f"Encoders, 64 wide, learn for {steps:,} steps to give each word of a story its part of speech, "
        f"from "
        "the output at its own place: “I run” has a verb, “a run” a noun. Right, of words that have several tags "
        "(ambiguous); and if each is read from the output at the next word instead. A table of each word's most "
        "frequent tag knows "
        "nothing of the sentence.",
        tables=(Table(("encoder", "all words, %", "ambiguous, %", "read one place off, %"), tuple(rows)),),
        figures=(bar_chart("ambiguous words tagged right, in %", bars),),
        verdicts=(
            *(
                margin(
                    f"{name}: ambiguous words, above the table",
                    differences(got[name], [answer["table"] for answer in answers[name]]),
                    "points",
                    more_than=10,
                )
                for name in list(MODELS)[:2]
            ),
            margin(
                "each output is about its own word: right there, above the output at the next word",
                [answer["ambiguous"] - answer["neighbour"] for answer in answers["Transformer"]],
                "points",
                more_than=40,
            ),
        ),
        numbers={name: list(runs) for name, runs in answers.items()},
    )


LESSON = Lesson(
    name="any-output",
    claim="A prediction can be made from any output vector of an encoder: from each, the label of its own word in its "
    "sentence.",
    after="the lectures: “we can make predictions from any output vector y_i”",
    run=run,
    formula="tag_i = softmax(W y_i + b)     y_1 … y_T = encoder(x_1 … x_T)",
    model=("words", "embeddings + positions", "encoder", "every output", "a tag for each word"),
)
