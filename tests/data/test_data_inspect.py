"""What inspect counts, by hand on a small corpus."""

from __future__ import annotations

import json

from regard.config import TokenizerSettings
from regard.data.examples import Corpus, Example, Skipped
from regard.data.inspect import inspect, lengths, render

CORPUS = Corpus(
    name="tiny",
    train=[Example("a b", "A"), Example("a b", "A"), Example("a b", "B"), Example("c\nd", "x" * 300)],
    dev=[Example("a b", "C"), Example("e", "E")],
    test=[],
    skipped=[Skipped("f:3", "the source is empty"), Skipped("f:9", "the target is empty")]
    + [Skipped(f"f:{n}", "the source is empty") for n in range(20, 24)],
    notes=("a note",),
    task="translation",
    tokenizer=TokenizerSettings(kind="word"),
    model="transformer",
)


def test_counts() -> None:
    found = inspect(CORPUS, examples=1)
    train, dev, test = (found.splits[name] for name in ("train", "dev", "test"))
    assert (train.pairs, train.duplicate_pairs, train.ambiguous_sources, train.seen_in_train) == (4, 1, 1, 0)
    assert (dev.pairs, dev.duplicate_pairs, dev.seen_in_train) == (2, 0, 1)
    assert test.pairs == 0
    assert (train.source.different, train.target.different) == (2, 3)
    assert (train.target.characters.longest, train.target.words.longest) == (300, 1)
    assert train.source.words.mean == 2
    assert train.examples == (CORPUS.train[0],)
    assert [(r.why, r.count, r.first) for r in found.skipped] == [
        ("the source is empty", 5, ("f:3", "f:20", "f:21")),
        ("the target is empty", 1, ("f:9",)),
    ]


def test_histogram_counts_every_text_once() -> None:
    values = [0, 3, 3, 17, 42, 99, 100]
    histogram = lengths(values).histogram
    assert sum(b.count for b in histogram) == len(values)
    assert len(histogram) <= 10
    assert all(b.count == sum(b.low <= value <= b.high for value in values) for b in histogram)
    assert [(b.low, b.high, b.count) for b in lengths([2, 3, 3]).histogram] == [(2, 2, 1), (3, 3, 2)]


def test_text_and_json() -> None:
    found = inspect(CORPUS)
    text = render(found)
    for part in ("note: a note", "skipped: 6", "5 × the source is empty (f:3, f:20, f:21, …)", "c⏎d → xxx", "tiny"):
        assert part in text
    assert max(map(len, text.splitlines())) < 220
    assert json.loads(json.dumps(found.as_dict()))["splits"]["dev"]["seen_in_train"] == 1
