"""Pairs without those that a check speaks against; what was dropped, and why, in a file beside."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.data.examples import Example, Skipped
from regard.data.files import fits_tsv, write_pairs
from regard.data.pair_checks import MEANING, CheckName, Identify, check_pairs
from regard.errors import UserError
from regard.files import check_writable, write_text

DROPPED = ".dropped.jsonl"
DEFAULT: tuple[CheckName, ...] = ("duplicate", "copy", "language", "length", "placeholders")


@dataclass(frozen=True)
class Cleaning:
    """`dropped`: by the first check that spoke against them. `unread`: units that were no pairs to begin with."""

    kept: int
    dropped: dict[str, int]
    noted: dict[str, int]  # checks that were not asked to drop: how many of the kept they speak of
    unread: int
    dropped_file: Path


def clean_pairs(
    pairs: Sequence[Example],
    skipped: Sequence[Skipped],
    out: Path,
    drop: Sequence[CheckName] = DEFAULT,
    identify: Identify | None = None,
    languages: tuple[str, str] | None = None,
) -> Cleaning:
    """Write the pairs to keep to `out` (.tsv or .jsonl), all others with the reasons beside it."""
    if out.suffix not in (".tsv", ".jsonl"):
        raise UserError(f"--out {out}: pairs are written as .tsv or .jsonl; choose one")
    beside = out.with_name(out.name + DROPPED)
    check_writable(out)
    kept: list[Example] = []
    lines: list[str] = []
    dropped: Counter[str] = Counter()
    noted: Counter[str] = Counter()
    for pair, problems in zip(pairs, check_pairs(pairs, identify, languages), strict=True):
        against = [check for check in problems if check in drop]
        if against:
            dropped[MEANING[against[0]]] += 1
            why = {check: problems[check] for check in against}
            lines.append(_line({"why": why, "source": pair.source, "target": pair.target}))
        else:
            noted.update(MEANING[check] for check in problems)
            kept.append(pair)
    if out.suffix == ".tsv" and not all(map(fits_tsv, kept)):
        raise UserError(f"--out {out}: some texts have tabs or line ends, which TSV cannot hold; write .jsonl")
    if not kept:
        raise UserError(f"--out {out}: no pair is left; drop less than {','.join(drop)}")
    lines += [_line({"why": unit.why, "where": unit.where}) for unit in skipped]
    write_pairs(out, kept)
    write_text(beside, "".join(lines))
    return Cleaning(len(kept), dict(dropped), dict(noted), len(skipped), beside)


def _line(record: dict[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
