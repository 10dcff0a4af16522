"""Pairs from translators' files: units that are translated and need no review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from regard.data.examples import Example, Skipped
from regard.data.files import Reading
from regard.errors import UserError
from regard.formats.reading import format_of, is_one_language, read_folder, read_pair, read_units
from regard.formats.unit import LanguagePair, LeftOut, Unit, UnitState

_WHY: dict[UnitState, str] = {
    "untranslated": "no translation",
    "fuzzy": "needs review (--data.fuzzy true takes it)",
    "obsolete": "obsolete",
    "protected": "marked as not to be translated",
}


def is_translation_file(path: str | Path) -> bool:
    """A file in one of the translators' formats, or a folder."""
    return format_of(path) is not None or Path(path).is_dir()


def read_translation_pairs(path: str | Path, languages: LanguagePair, fuzzy: bool = False) -> Reading:
    """The pairs of a file. `fuzzy`: also those that need review."""
    if Path(path).is_dir():
        return pairs_of(read_folder(Path(path), languages), fuzzy)
    if is_one_language(path):
        kind = Path(path).name
        raise UserError(
            f"{path}: {kind} holds the texts of one language; give both files as --data.source and --data.target, or "
            "their folder as --data.pairs"
        )
    return pairs_of(read_units(path, languages), fuzzy)


def read_translation_pair(source: str | Path, target: str | Path) -> Reading | None:
    """Two files of one language each: texts with the same key. None where they are not of one such format."""
    if not is_one_language(source) or format_of(source) != format_of(target):
        return None
    return pairs_of(read_pair(Path(source), Path(target)))


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
