"""Embedded corpora: the same for the same seed, split without overlap, and each true to its task."""

from __future__ import annotations

import datetime
import re
from collections import Counter

import pytest
from babel.dates import format_date

from regard.config import DataSettings
from regard.data.corpus import load_corpus
from regard.data.embedded import EMBEDDED
from regard.data.embedded.dates import written_dates
from regard.data.embedded.languages import LANGUAGES
from regard.data.embedded.prose import CHUNK, chunks
from regard.data.embedded.stories import stories
from regard.data.embedded.world import PEOPLE, PLACES
from regard.errors import UserError

SMALL = {"examples": 300, "dev_examples": 40, "test_examples": 50}


@pytest.mark.parametrize("name", EMBEDDED)
def test_deterministic_sized_and_split(name: str) -> None:
    corpus = load_corpus(DataSettings(corpus=name, **SMALL))
    assert corpus == load_corpus(DataSettings(corpus=name, **SMALL))
    assert corpus.train != load_corpus(DataSettings(corpus=name, seed=2, **SMALL)).train
    sizes = tuple(len(rows) for rows in corpus.splits().values())
    assert sizes == (300, 40, 50) or (name == "prose" and sizes[0] == 300 and 30 < sizes[1] <= 40 < sizes[2] <= 50)
    assert all(example.target for rows in corpus.splits().values() for example in rows)
    known = {example.source or example.target for example in corpus.train}
    assert not known & {example.source or example.target for example in [*corpus.dev, *corpus.test]}
    assert not {e.source or e.target for e in corpus.dev} & {e.source or e.target for e in corpus.test}
    assert corpus.tokenizer.kind in ("word", "character")
    assert EMBEDDED[name].about


def test_dates_are_what_babel_writes_and_whole_days_are_held_out() -> None:
    splits = written_dates(DataSettings(corpus="dates", pair="en-fr", **SMALL))
    for date in splits["train"]:
        example = date.example()
        has_weekday = any(piece.kind == "weekday" for piece in date.source)
        assert has_weekday == (date.format not in ("long", "medium", "numeric", "iso"))
        assert example.target == format_date(date.day, "full" if has_weekday else "long", locale="fr")
        if date.format in ("full", "long", "medium"):
            assert example.source == format_date(date.day, date.format, locale="en")
        assert str(date.day.year) in example.source
        aligned = Counter(piece.kind for piece in date.target)
        assert aligned["year"] == aligned["month"] == aligned["day"] == 1
        assert aligned["weekday"] == has_weekday
    assert {date.format for date in splits["train"]} >= {"full", "long", "medium", "numeric"}
    days = {name: {date.day for date in rows} for name, rows in splits.items()}
    assert not days["train"] & (days["dev"] | days["test"])
    assert not days["dev"] & days["test"]


@pytest.mark.parametrize("pair", ["en-ja", "ja-de", "en_GB-iso", "ru-ar", "sv-zh_Hant_TW", "th-iso", "iso-fr"])
def test_one_date_text_means_one_day(pair: str) -> None:
    config = DataSettings(corpus="dates", pair=pair, examples=2000, dev_examples=40, test_examples=50)
    meant: dict[str, datetime.date] = {}
    for date in written_dates(config)["train"]:
        assert meant.setdefault(date.example().source, date.day) == date.day
        if pair.endswith("iso"):
            assert date.example().target == date.day.isoformat()


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("en-frr_XX", "no locale 'frr_XX'"),
        ("en_GX-fr", "no locale 'en_GX', did you mean 'en_"),
        ("en", "not a pair"),
        ("iso-iso", "nothing"),
    ],
)
def test_unknown_locales(pair: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_corpus(DataSettings(corpus="dates", pair=pair))


def test_sums_are_right_and_unseen_either_way() -> None:
    corpus = load_corpus(DataSettings(corpus="addition", examples=3000))
    keys = {}
    for name, rows in corpus.splits().items():
        pairs = [tuple(map(int, example.source.split("+"))) for example in rows]
        assert [str(sum(pair)) for pair in pairs] == [example.target for example in rows]
        keys[name] = {tuple(sorted(pair)) for pair in pairs}
    assert not keys["train"] & (keys["dev"] | keys["test"])
    assert max(len(example.source) for example in corpus.train) == 7


def test_asking_for_more_than_there_is() -> None:
    with pytest.raises(UserError, match=r"data\.examples = 60: .* addition has 55 different ones"):
        load_corpus(DataSettings(corpus="addition", digits=1, examples=60))
    corpus = load_corpus(DataSettings(corpus="addition", digits=1))
    assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (45, 5, 5)
    assert "only 55 different examples exist" in corpus.notes[0]
    with pytest.raises(UserError, match=r"data\.examples = 999999, but en-fr has"):
        load_corpus(DataSettings(corpus="dates", examples=999_999))


@pytest.mark.parametrize("name", ["reverse", "sort", "copy"])
def test_sequences_and_their_lengths(name: str) -> None:
    corpus = load_corpus(DataSettings(corpus=name, lengths="3-8", test_lengths="9-12", **SMALL))
    right = {"reverse": lambda s: s[::-1], "sort": lambda s: "".join(sorted(s)), "copy": lambda s: s}[name]
    assert all(example.target == right(example.source) for rows in corpus.splits().values() for example in rows)
    assert {len(example.source) for example in [*corpus.train, *corpus.dev]} == set(range(3, 9))
    assert {len(example.source) for example in corpus.test} == set(range(9, 13))
    overlapping = load_corpus(DataSettings(corpus=name, lengths="1-2", test_lengths="2-3", **SMALL))
    assert not {e.source for e in overlapping.train} & {e.source for e in overlapping.test}
    assert len(overlapping.train) == 300


def reread(text: str, asked: str) -> str | None:
    """The answer found by reading the sentences alone, with pronouns resolved to the subject before."""
    place: dict[str, str] = {}
    holder: dict[str, str] = {}
    subject: list[str] = []
    for sentence in text.removesuffix(".").split(". "):
        who = re.match(r"(She|He|They|[A-Z]\w+(?: and [A-Z]\w+)?) ", sentence)
        assert who is not None
        if who[1] not in ("She", "He", "They"):
            subject = who[1].split(" and ")
        else:
            assert (who[1] == "They") == (len(subject) == 2)
            assert who[1] == "They" or PEOPLE[subject[0]] == who[1].lower()
        thing = sentence.split()[-1]
        if re.search(r"(went|walked|moved) to", sentence):
            for person in subject:
                place[person] = thing
        elif re.search(r" (took|picked up|grabbed) ", sentence):
            holder[thing] = subject[0]
        else:
            assert holder.pop(thing) == subject[0]
            place[thing] = place.get(subject[0], "unknown")
    return place.get(holder.get(asked, asked))


def test_stories_decide_their_answers() -> None:
    told = [story for rows in stories(DataSettings(corpus="stories", **SMALL)).values() for story in rows]
    for story in told:
        example = story.example()
        asked = story.question.removesuffix("?").split()[-1]
        assert reread(story.text, asked) == story.answer in PLACES
        supporting = [example.source[story.sentences[n].start : story.sentences[n].end] for n in story.supporting]
        assert any(sentence.endswith(f" {story.answer}.") for sentence in supporting)
        assert asked in PEOPLE or any(sentence.endswith(f" the {asked}.") for sentence in supporting)
        for pronoun in story.pronouns:
            assert example.source[pronoun.where.start : pronoun.where.end].lower() == pronoun.word
            named = example.source[pronoun.antecedent_where.start : pronoun.antecedent_where.end]
            assert named == pronoun.antecedent
            assert pronoun.antecedent_where.end < pronoun.where.start
    assert {p.word for story in told for p in story.pronouns} == {"he", "she", "they"}
    last_place = [re.findall(r"to the (\w+)", story.text)[-1] == story.answer for story in told]
    assert sum(last_place) < 0.75 * len(told)  # reading only the last place is not enough


def test_languages_are_balanced_and_names_are_unseen() -> None:
    corpus = load_corpus(DataSettings(corpus="languages", examples=3400, dev_examples=170, test_examples=170))
    classes = Counter(example.target for example in corpus.train)
    assert len(classes) == len(LANGUAGES) >= 12
    assert set(classes.values()) == {200}
    train = " ".join(example.source for example in corpus.train)
    singles = [
        e.source
        for e in corpus.test
        if not re.search(r"[\d,]| (et|und|and|y|e|en|och|ja|i|a|și|és|ve|и|і|та) ", e.source)
    ]
    assert singles
    assert not [name for name in singles if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", train)]


def test_prose_chunks_are_the_text() -> None:
    text = "word " * 300 + "x" * 700 + "\n\nend"
    pieces = chunks(text)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= CHUNK for piece in pieces)
    assert all(piece[-1].isspace() for piece in pieces[:5])
    assert chunks("") == []


def test_prose_holds_out_text_that_train_does_not_repeat() -> None:
    corpus = load_corpus(DataSettings(corpus="prose"))
    train = "".join(example.target for example in corpus.train)
    repeated = [e for e in [*corpus.dev, *corpus.test] if e.target[60:200] and e.target[60:200] in train]
    assert len(corpus.dev) > 50
    assert len(corpus.test) > 50
    assert len(repeated) <= 0.02 * len([*corpus.dev, *corpus.test])
    assert corpus.task == "continuation"


def test_held_out_sets_do_not_take_the_rare_ones() -> None:
    """Of the 55 sums of two single digits most are for training, as of all others."""
    corpus = load_corpus(DataSettings(corpus="addition"))
    short = {split: sum(len(e.source) == 3 for e in examples) for split, examples in corpus.splits().items()}
    assert short["train"] > 40 and short["test"] < 8 and short["dev"] < 8
