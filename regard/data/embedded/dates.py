"""Dates of one language in several formats, to be written out in full in another (CLDR, through Babel)."""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass
from functools import lru_cache

from babel import Locale, UnknownLocaleError, localedata
from babel.dates import DateTimeFormat, tokenize_pattern

from regard.config import DataSettings, TokenizerSettings, near
from regard.data.examples import Corpus, Example
from regard.errors import UserError

ABOUT = "dates in several formats, written out in another language (data.pair, e.g. en-fr, en-ja, de-iso)"
EXAMPLE = Example("Sat, Aug 15, 1992", "samedi 15 août 1992")
FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)
ISO = "y-MM-dd"
KINDS = {"y": "year", "M": "month", "L": "month", "d": "day", "E": "weekday", "c": "weekday", "G": "era"}

Pattern = tuple[tuple[str, str], ...]
Slot = tuple[datetime.date, str]
TRAIN, HELD_OUT = 30_000, 1000


@dataclass(frozen=True)
class Piece:
    """A stretch of a written date: kind is year, month, day, weekday, era, or text for what stands between."""

    kind: str
    text: str


@dataclass(frozen=True)
class WrittenDate:
    """A day, as written on both sides. Pieces of one kind are what aligns."""

    day: datetime.date
    format: str
    source: tuple[Piece, ...]
    target: tuple[Piece, ...]

    def example(self) -> Example:
        return Example("".join(p.text for p in self.source), "".join(p.text for p in self.target))


def make(config: DataSettings) -> Corpus:
    source, target = _pair(config.pair)
    dates, more = _draw(config, source, target)
    splits = {split: [date.example() for date in rows] for split, rows in dates.items()}
    formats = ", ".join(source_formats(source))
    notes = (f"source formats: {formats}; {FIRST.year} to {LAST.year}; dev and test are days that train never shows",)
    return Corpus(
        name=f"dates {config.pair}",
        **splits,
        images=None,
        skipped=[],
        notes=(*notes, *more),
        task="translation",
        tokenizer=TokenizerSettings(kind="word", shared=False),
        model="lstm-additive",
        languages=(source.replace("_", "-"), target.replace("_", "-")),
    )


def written_dates(config: DataSettings) -> dict[str, list[WrittenDate]]:
    """The same dates as the corpus, split by split, with their pieces."""
    source, target = _pair(config.pair)
    return _draw(config, source, target)[0]


def _draw(config: DataSettings, source: str, target: str) -> tuple[dict[str, list[WrittenDate]], tuple[str, ...]]:
    formats = source_formats(source)
    generator = random.Random(f"dates {config.seed}")
    days = [FIRST + datetime.timedelta(n) for n in range((LAST - FIRST).days + 1)]
    generator.shuffle(days)
    test, held = (
        config.test_examples or HELD_OUT,
        (config.dev_examples or HELD_OUT) + (config.test_examples or HELD_OUT),
    )
    if held >= len(days):
        raise UserError(f"{held} days are to be held out, but there are {len(days)}; lower data.dev_examples")
    slots = [(day, name) for day in days[held:] for name in formats]
    wanted = config.examples or TRAIN
    if (config.examples or 0) > len(slots):
        raise UserError(f"data.examples = {config.examples}, but {config.pair} has {len(slots)} for training; lower it")
    choices = list(formats)
    rows = {
        "test": [(day, generator.choice(choices)) for day in days[:test]],
        "dev": [(day, generator.choice(choices)) for day in days[test:held]],
        "train": generator.sample(slots, min(len(slots), 2 * wanted)),
    }
    goals = {True: target_format(target, weekday=True), False: target_format(target, weekday=False)}
    splits: dict[str, list[WrittenDate]] = {}
    for split, limit in (("test", test), ("dev", held - test), ("train", wanted)):
        by_text: dict[tuple[Piece, ...], WrittenDate] = {}  # "May 5, 1992" is long and medium: once
        for day, name in rows[split]:
            pieces = write(day, formats[name], source)
            goal = goals[any(piece.kind == "weekday" for piece in pieces)]
            by_text.setdefault(pieces, WrittenDate(day, name, pieces, write(day, goal, target)))
            if len(by_text) == limit:
                break
        splits[split] = list(by_text.values())
    few = len(splits["train"]) < wanted
    notes = (f"only {len(splits['train'])} different training examples exist with these settings",) if few else ()
    return splits, notes


def source_formats(locale: str) -> dict[str, Pattern]:
    """The locale's own formats that name year, month and day; the year always in full, so that one day is meant."""
    if locale == "iso":
        return {"iso": _parse(ISO)}
    cldr = Locale.parse(locale)
    patterns = {name: cldr.date_formats[name].pattern for name in ("full", "long", "medium", "short")}
    for name, skeleton in (("medium with weekday", "yMMMEd"), ("numeric with weekday", "yMEd")):
        if skeleton in cldr.datetime_skeletons:
            patterns[name] = cldr.datetime_skeletons[skeleton].pattern
    patterns["iso"] = ISO
    formats: dict[str, Pattern] = {}
    for name, pattern in patterns.items():
        parsed = _parse(pattern)
        kinds = {kind for kind, _ in parsed}
        if {"year", "month", "day"} <= kinds and "other" not in kinds and parsed not in formats.values():
            formats["numeric" if name == "short" else name] = parsed
    return formats


def target_format(locale: str, weekday: bool) -> Pattern:
    """The full form; where the source names no weekday, the long form, which is the full one without it.

    To add a weekday that is not there a model would have to learn the calendar instead of a language.
    """
    if locale == "iso":
        return _parse(ISO)
    return _parse(Locale.parse(locale).date_formats["full" if weekday else "long"].pattern)


def write(day: datetime.date, pattern: Pattern, locale: str) -> tuple[Piece, ...]:
    """The date as pieces; joined, they are what Babel's format_date gives."""
    shown = {"year": day.year, "month": day.month, "day": day.day, "weekday": day.weekday(), "era": day.year}
    return tuple(_piece(shown[kind], kind, what, locale) if kind else Piece("text", what) for kind, what in pattern)


@lru_cache(maxsize=10_000)
def _piece(shown: int, kind: str, field: str, locale: str) -> Piece:
    """One field, formatted by Babel on any day that shows it. Kept, for Babel parses the locale each time."""
    match kind:
        case "year" | "era":
            day = datetime.date(shown, 1, 1)
        case "month":
            day = datetime.date(2000, shown, 1)
        case "day":
            day = datetime.date(2000, 1, shown)
        case _:
            day = datetime.date(2001, 1, 1 + shown)  # a Monday and the days after it
    return Piece(kind, DateTimeFormat(day, Locale.parse("en" if locale == "iso" else locale))[field])


def _parse(pattern: str) -> Pattern:
    """(kind, field) and ("", text) in order; two-digit years become four-digit ones."""
    parsed = []
    for token, value in tokenize_pattern(pattern):
        if token == "chars":
            parsed.append(("", str(value)))
        else:
            letter, width = str(value[0]), int(value[1])
            parsed.append((KINDS.get(letter, "other"), letter if letter == "y" else letter * width))
    return tuple(parsed)


def _pair(pair: str) -> tuple[str, str]:
    parts = pair.split("-")
    if len(parts) != 2:
        raise UserError(f"data.pair = {pair!r} is not a pair; write two locales with a hyphen, as en-fr or en_GB-ja")
    if parts == ["iso", "iso"]:
        raise UserError("data.pair = 'iso-iso' has nothing to translate; name a locale, as en-iso")
    return _locale(pair, parts[0]), _locale(pair, parts[1])


def _locale(pair: str, name: str) -> str:
    if name == "iso":
        return name
    try:
        return str(Locale.parse(name))
    except (UnknownLocaleError, ValueError):
        known = [*localedata.locale_identifiers(), "iso"]
        hint = near(name, known)
        raise UserError(f"data.pair = {pair!r}: no locale {name!r}{hint}; CLDR has en, fr, de, ja, pt_BR …") from None
