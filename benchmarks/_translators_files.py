"""Round trips of real translators' files: python benchmarks/_translators_files.py FOLDER

For each file: nothing filled must give the same bytes; all open units filled with their source must be read back, and a
PO file must still pass msgfmt -c where it did before.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from regard.errors import UserError
from regard.formats.reading import format_of, is_one_language, read_units
from regard.formats.unit import Filling, LanguagePair, Unit
from regard.formats.writing import filled

LANGUAGES = LanguagePair("en", "fr")


def passes_msgfmt(path: Path) -> bool:
    words = [shutil.which("msgfmt") or "msgfmt", "-c", "-o", "/dev/null", str(path)]
    return subprocess.run(words, capture_output=True).returncode == 0


def round_trip(path: Path, folder: Path, counts: Counter[str]) -> None:
    units = [unit for unit in read_units(path, LANGUAGES) if isinstance(unit, Unit)]
    counts["units"] += len(units)
    if filled(path, [], LANGUAGES) != path.read_bytes():
        counts["changed although nothing was filled"] += 1
    chosen = [unit for unit in units if unit.state in ("untranslated", "fuzzy") and unit.source.strip()]
    fillings = [Filling(unit, unit.source, "machine", review=True, note="a note") for unit in chosen]
    counts["filled"] += len(fillings)
    copy = folder / path.name
    copy.write_bytes(filled(path, fillings, LANGUAGES))
    again = [unit for unit in read_units(copy, LANGUAGES) if isinstance(unit, Unit)]
    texts = {(unit.key, unit.plural): unit.source if is_one_language(path) else unit.target for unit in again}
    if any(texts[(unit.key, unit.plural)] != unit.source for unit in chosen):
        counts["filled, and not read back"] += 1
    if format_of(path) == "po" and passes_msgfmt(path):
        counts["msgfmt before"] += 1
        counts["msgfmt after"] += passes_msgfmt(copy)


def main(folder: str) -> None:
    paths = [path for path in sorted(Path(folder).rglob("*")) if path.is_file() and format_of(path)]
    by_format: dict[str, Counter[str]] = {}
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as copies:
        for path in paths:
            counts = by_format.setdefault(str(format_of(path)), Counter())
            counts["files"] += 1
            try:
                round_trip(path, Path(copies), counts)
            except UserError as error:
                counts["refused"] += 1
                print(error, file=sys.stderr)
    for name, counts in by_format.items():
        print(name, dict(counts))
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1])
