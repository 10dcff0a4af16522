"""What may be wrong with a pair: copies, doubles, lengths, languages, placeholders, numbers.

Each check has a name, by which `regard data clean --drop` chooses it, and says of every pair what it found.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, get_args

from babel import Locale

from regard.data.examples import Example
from regard.data.numbers import missing_numbers
from regard.data.placeholders import compare_placeholders
from regard.errors import UserError

CheckName = Literal["duplicate", "ambiguous", "copy", "language", "length", "placeholders", "numbers"]
CHECKS: tuple[CheckName, ...] = get_args(CheckName)
MEANING: dict[CheckName, str] = {
    "duplicate": "the same pair as an earlier one",
    "ambiguous": "this source has another target more often",
    "copy": "the target is a copy of the source",
    "language": "a side looks like another language",
    "length": "one side is much longer than usual",
    "placeholders": "tags or placeholders differ",
    "numbers": "numbers differ",
}
COPY_WORDS = 2  # single words are often the same in both languages: OK, Linux
LENGTH_FACTOR = 3.0  # times the usual ratio of lengths
LENGTH_AT_LEAST = 20  # characters of the longer side
LANGUAGE_AT_LEAST = 20  # characters
SURE = 0.9  # how sure the classifier must be of another language

# Texts → the language of each (a code, or its English name) and the probability
Identify = Callable[[Sequence[str]], Sequence[tuple[str, float]]]


def check_pairs(
    pairs: Sequence[Example], identify: Identify | None = None, languages: tuple[str, str] | None = None
) -> list[dict[CheckName, str]]:
    """Of each pair what its checks found: {} where nothing. `identify` with `languages`: the check of the language."""
    found: list[dict[CheckName, str]] = [{} for _ in pairs]
    _check_repeats(pairs, found)
    usual = _usual_ratio(pairs)
    for pair, problems in zip(pairs, found, strict=True):
        if pair.source == pair.target and len(pair.source.split()) >= COPY_WORDS:
            problems["copy"] = MEANING["copy"]
        if (ratio := _length_ratio(pair, usual)) is not None:
            problems["length"] = f"the target is {ratio:.1f} times as long as usual"
        if difference := compare_placeholders(pair.source, pair.target):
            problems["placeholders"] = str(difference)
        lost, added = missing_numbers(pair.source, pair.target), missing_numbers(pair.target, pair.source)
        if lost or added:
            problems["numbers"] = ", ".join([*(f"-{number}" for number in lost), *(f"+{number}" for number in added)])
    if identify is not None and languages is not None:
        for side, language in (("source", languages[0]), ("target", languages[1])):
            _check_language(pairs, found, side, language, identify)
    return found


def _check_repeats(pairs: Sequence[Example], found: Sequence[dict[CheckName, str]]) -> None:
    counts: dict[str, Counter[str]] = {}
    for pair in pairs:
        counts.setdefault(pair.source, Counter())[pair.target] += 1
    seen: set[Example] = set()
    for pair, problems in zip(pairs, found, strict=True):
        targets = counts[pair.source]
        if pair in seen:
            problems["duplicate"] = MEANING["duplicate"]
        seen.add(pair)
        if pair.source and pair.target != targets.most_common(1)[0][0]:
            problems["ambiguous"] = f"{len(targets)} targets for this source"


def _usual_ratio(pairs: Sequence[Example]) -> float:
    """The median of target length by source length, in characters."""
    ratios = [len(pair.target) / len(pair.source) for pair in pairs if pair.source and pair.target]
    return statistics.median(ratios) if ratios else 1.0


def _length_ratio(pair: Example, usual: float) -> float | None:
    """How much longer than usual the target is, where that is too much or too little."""
    if not pair.source or not pair.target or max(len(pair.source), len(pair.target)) < LENGTH_AT_LEAST:
        return None
    ratio = len(pair.target) / len(pair.source) / usual
    return ratio if abs(math.log(ratio)) > math.log(LENGTH_FACTOR) else None


def _check_language(
    pairs: Sequence[Example],
    found: Sequence[dict[CheckName, str]],
    side: Literal["source", "target"],
    language: str,
    identify: Identify,
) -> None:
    rows = [row for row, pair in enumerate(pairs) if len(getattr(pair, side)) >= LANGUAGE_AT_LEAST]
    for row, (name, sure) in zip(rows, identify([getattr(pairs[row], side) for row in rows]), strict=True):
        if sure >= SURE and not is_language(name, language):
            found[row]["language"] = f"the {side} looks like {name}, not {language}"


def is_language(name: str, code: str) -> bool:
    """Whether a classifier's label (en, en-GB, English) names the language of a code."""
    primary = code.replace("_", "-").partition("-")[0].lower()
    return name.replace("_", "-").partition("-")[0].lower() in (primary, language_name(code).lower())


def language_name(code: str) -> str:
    """en-US → English"""
    primary = code.replace("_", "-").partition("-")[0].lower()
    return Locale("en").languages.get(primary, primary)


def chosen_checks(text: str) -> tuple[CheckName, ...]:
    """Names with commas between → checks."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    wrong = [name for name in names if name not in CHECKS]
    if wrong:
        raise UserError(f"--drop {wrong[0]}: there is no such check; there are {', '.join(CHECKS)}")
    return tuple(check for check in CHECKS if check in names)
