"""Word alignments: which source word each target word came from, read off an attention map, and how right they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.analysis.maps import AttentionMap, is_mark
from regard.analysis.trace import Trace
from regard.data.embedded.stories import Span
from regard.data.embedded.truth import Truth
from regard.data.examples import Example
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
    return head_links(found.mean())[0]


def head_links(found: AttentionMap) -> list[frozenset[Link]]:
    """The same for each head apart."""
    words = found.words()
    columns = [index for index, label in enumerate(words.columns) if not is_mark(label)]
    rows = [index for index, label in enumerate(words.rows) if not is_mark(label)]
    if not columns or not rows:
        return [frozenset()] * found.heads
    best = words.weights[:, rows][:, :, columns].argmax(-1).tolist()  # (H, T)
    return [frozenset((source, target) for target, source in enumerate(each)) for each in best]


def diagonal(sources: int, targets: int) -> frozenset[Link]:
    """What needs no model: the word at the same share of the way."""
    return frozenset((place * sources // targets, place) for place in range(targets)) if sources else frozenset()


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


def check_links(gold: Sequence[Gold], examples: Sequence[Example], path: str) -> None:
    """Links to words that are not there, or none at all, would give a rate that means nothing."""
    for number, (one, example) in enumerate(zip(gold, examples, strict=True), start=1):
        sources, targets = len(example.source.split()), len(example.target.split())
        for source, target in sorted(one.possible):
            if source >= sources or target >= targets:
                raise UserError(
                    f"{path}:{number}: {source}-{target} is outside the sentence, which has {sources} source and "
                    f"{targets} target words; words are counted from 0"
                )
    if not any(one.sure for one in gold):
        raise UserError(f"{path}: it has no sure link (0-0), so nothing can be found or missed; give a gold alignment")


def alignment_error_rate(found: Iterable[frozenset[Link]], gold: Iterable[Gold]) -> float:
    """AER = 1 - (|A∩S| + |A∩P|) / (|A| + |S|) over all sentences (Och & Ney 2003); 0 is perfect."""
    hits = total = 0
    for links, truth in zip(found, gold, strict=True):
        hits += len(links & truth.sure) + len(links & truth.possible)
        total += len(links) + len(truth.sure)
    return 1 - hits / total if total else 0.0


def true_links(example: Example, truth: Truth) -> Gold:
    """Words that hold the same field of a date; a target word without a field may come from anywhere."""
    sources, targets = _words(example.source), _words(example.target)
    sure = {
        (source, target)
        for one, other in truth.aligned
        for source, word in enumerate(sources)
        for target, its in enumerate(targets)
        if _overlap(word, one) and _overlap(its, other)
    }
    free = set(range(len(targets))) - {target for _, target in sure}
    return Gold(
        frozenset(sure), frozenset(sure | {(source, target) for target in free for source in range(len(sources))})
    )


def _words(text: str) -> list[Span]:
    return [Span(*found.span()) for found in re.finditer(r"\S+", text)]


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


@dataclass(frozen=True)
class AlignmentRow:
    """One attention, or one of its heads, and its alignment error rate in percent."""

    attention: str
    head: int | None  # None: the mean of all
    error: float

    @property
    def name(self) -> str:
        return self.attention if self.head is None else f"{self.attention}.{self.head}"


@dataclass(frozen=True)
class AlignmentReport:
    """In the order of the computation; `diagonal` is what linking words by their place would get."""

    sentences: int
    links: int  # sure ones
    diagonal: float
    rows: tuple[AlignmentRow, ...]

    @property
    def best(self) -> AlignmentRow:
        return min(self.rows, key=lambda row: row.error)

    @property
    def best_head(self) -> AlignmentRow:
        """Where an attention has one head, it is that head."""
        several = {row.attention for row in self.rows if row.head is not None}
        single = [row for row in self.rows if row.head is not None or row.attention not in several]
        return min(single, key=lambda row: row.error)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "best": self.best.name, "best_head": self.best_head.name}


def measure_alignments(traces: Sequence[Trace], gold: Sequence[Gold], examples: Sequence[Example]) -> AlignmentReport:
    """The error rate of every attention that looks at the source, heads averaged and each apart."""
    names = traces[0].source_attentions
    if not names:
        raise UserError("this model has no attention that looks at the source; there is nothing to align by")
    rows = []
    for name in names:
        maps = [trace.source_map(name) for trace in traces]
        rows.append(AlignmentRow(name, None, _error([align(one) for one in maps], gold)))
        if maps[0].heads > 1:
            each = zip(*(head_links(one) for one in maps), strict=True)
            rows += [AlignmentRow(name, head, _error(found, gold)) for head, found in enumerate(each)]
    straight = [diagonal(len(one.source.split()), len(one.target.split())) for one in examples]
    return AlignmentReport(len(gold), sum(len(one.sure) for one in gold), _error(straight, gold), tuple(rows))


def _error(found: Iterable[frozenset[Link]], gold: Iterable[Gold]) -> float:
    return 100 * alignment_error_rate(found, gold)


def render(report: AlignmentReport) -> str:
    """The table."""
    width = max(18, *(len(row.name) + 2 for row in report.rows))
    lines = [f"alignment error rate in % on {report.sentences} sentences with {report.links} links; 0 is perfect", ""]
    for row in report.rows:
        lines.append(f"{row.name:<{width}}{row.error:6.1f}" + ("  all heads" if row.head is None else ""))
    lines += [f"{'(by place alone)':<{width}}{report.diagonal:6.1f}", ""]
    lines += [f"best: {report.best.name}", f"best head: {report.best_head.name}"]
    return "\n".join(lines)
