"""Pairs from translators' files: units that are translated and need no review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from regard.data.examples import Example, Skipped
from regard.data.files import Reading
from regard.formats.reading import format_of, read_units
from regard.formats.unit import LanguagePair, LeftOut, Unit, UnitState

_WHY: dict[UnitState, str] = {
    "untranslated": "no translation",
    "fuzzy": "needs review (--data.fuzzy true takes it)",
    "obsolete": "obsolete",
    "protected": "marked as not to be translated",
}


def is_translation_file(path: str | Path) -> bool:
    """A file in one of the translators' formats."""
    return format_of(path) is not None


def read_translation_pairs(path: str | Path, languages: LanguagePair, fuzzy: bool = False) -> Reading:
    """The pairs of a file. `fuzzy`: also those that need review."""
    return pairs_of(read_units(path, languages), fuzzy)


def pairs_of(units: Iterable[Unit | LeftOut], fuzzy: bool = False) -> Reading:
    """The translated units as examples, without the white space around their texts; the others with their reason."""
    examples, skipped = [], []
    variants: Counter[str] = Counter()
    for unit in units:
        if isinstance(unit, LeftOut):
            skipped.append(Skipped(unit.place, unit.why))
        elif unit.state != "translated" and not (fuzzy and unit.state == "fuzzy"):
            skipped.append(Skipped(unit.place, _WHY[unit.state]))
        elif not unit.source.strip() or not unit.target.strip():
            side = "target" if unit.source.strip() else "source"
            skipped.append(Skipped(unit.place, f"the {side} is empty"))
        else:
            examples.append(Example(unit.source.strip(), unit.target.strip()))
            variants[unit.languages] += 1
    counted = ", ".join(f"{count:,} {languages}" for languages, count in variants.most_common())
    notes = (f"pairs by language variant: {counted}",) if len(variants) > 1 else ()
    return Reading(examples, skipped, notes)
