"""Dates: what Babel writes, whole days held out, one meaning for each text."""

from __future__ import annotations

import datetime
from collections import Counter

import pytest
from babel.dates import format_date

from regard.config import DataSettings
from regard.data.corpus import load_corpus
from regard.data.embedded.dates import written_dates
from regard.errors import UserError

SMALL = {"examples": 300, "dev_examples": 40, "test_examples": 50}


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
