"""Word alignments: which source word each target word came from, read off an attention map, and how right they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from regard.analysis.maps import AttentionMap, is_mark
from regard.data.files import read_lines
from regard.errors import UserError

Link = tuple[int, int]  # source word, target word, both from 0


@dataclass(frozen=True)
class Gold:
    """What people say: sure links, and possible ones (which include the sure)."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def align(found: AttentionMap) -> frozenset[Link]:
    """Each target word with the source word it looked at most, heads averaged, words split at white space."""
    words = found.words().mean()
    columns = [index for index, label in enumerate(words.columns) if not is_mark(label)]
    rows = [index for index, label in enumerate(words.rows) if not is_mark(label)]
    if not columns:
        return frozenset()
    weights = words.weights[0][:, columns]
    return frozenset((int(weights[row].argmax()), target) for target, row in enumerate(rows))


def pharaoh(links: Iterable[Link]) -> str:
    """The usual text format: 0-0 1-2, a line a sentence."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links, key=lambda link: (link[1], link[0])))


def read_pharaoh(path: str | Path) -> list[Gold]:
    """A gold file: 3-2 is a sure link, 3?2 (or 3p2) a possible one."""
    return [_gold(line, f"{path}:{number}") for number, line in enumerate(read_lines(path), start=1)]


def _gold(line: str, where: str) -> Gold:
    sure, possible = set(), set()
    for entry in line.split():
        mark = next((mark for mark in "-?p" if mark in entry), None)
        source, _, target = entry.partition(mark) if mark else ("", "", "")
        if not (source.isdecimal() and target.isdecimal()):
            raise UserError(f"{where}: {entry!r} is not a link; write source-target as in 0-0 1-2 (possible: 3?2)")
        link = (int(source), int(target))
        possible.add(link)
        if mark == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def alignment_error_rate(found: Iterable[frozenset[Link]], gold: Iterable[Gold]) -> float:
    """AER = 1 - (|A∩S| + |A∩P|) / (|A| + |S|) over all sentences (Och & Ney 2003); 0 is perfect."""
    hits = total = 0
    for links, truth in zip(found, gold, strict=True):
        hits += len(links & truth.sure) + len(links & truth.possible)
        total += len(links) + len(truth.sure)
    return 1 - hits / total if total else 0.0
