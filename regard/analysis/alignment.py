"""Word alignments from attention weights: a source word for each target word; and the alignment error rate."""

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
    """A reference alignment: sure links, and possible ones (which include the sure)."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def align(attention: AttentionMap) -> frozenset[Link]:
    """Each target word with the source word of its highest weight, heads averaged, words split at white space."""
    return head_links(attention.mean())[0]


def head_links(attention: AttentionMap) -> list[frozenset[Link]]:
    """The same for each head."""
    words = attention.words()
    columns = [index for index, label in enumerate(words.columns) if not is_mark(label)]
    rows = [index for index, label in enumerate(words.rows) if not is_mark(label)]
    if not columns or not rows:
        return [frozenset()] * attention.heads
    best = words.weights[:, rows][:, :, columns].argmax(-1).tolist()  # (H, T)
    return [frozenset((source, target) for target, source in enumerate(sources)) for sources in best]


def diagonal(sources: int, targets: int) -> frozenset[Link]:
    """A baseline without a model: the source word at the same relative position."""
    return frozenset((target * sources // targets, target) for target in range(targets)) if sources else frozenset()


def pharaoh(links: Iterable[Link]) -> str:
    """The Pharaoh format: 0-0 1-2, a line for each sentence."""
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
    """Refuse links to words that do not exist, and a file without sure links: their error rate has no meaning."""
    for number, (links, example) in enumerate(zip(gold, examples, strict=True), start=1):
        sources, targets = len(example.source.split()), len(example.target.split())
        for source, target in sorted(links.possible):
            if source >= sources or target >= targets:
                raise UserError(
                    f"{path}:{number}: {source}-{target} is outside the sentence, which has {sources} source and "
                    f"{targets} target words; words are counted from 0"
                )
    if not any(links.sure for links in gold):
        raise UserError(f"{path}: it has no sure link (0-0), so nothing can be found or missed; give a gold alignment")


def alignment_error_rate(predicted: Iterable[frozenset[Link]], gold: Iterable[Gold]) -> float:
    """AER = 1 - (|A∩S| + |A∩P|) / (|A| + |S|) over all sentences (Och & Ney 2003); 0 is perfect."""
    hits = total = 0
    for links, truth in zip(predicted, gold, strict=True):
        hits += len(links & truth.sure) + len(links & truth.possible)
        total += len(links) + len(truth.sure)
    return 1 - hits / total if total else 0.0


def true_links(example: Example, truth: Truth) -> Gold:
    """Sure links join words of aligned spans; a target word without one has a possible link to every source word."""
    sources, targets = _words(example.source), _words(example.target)
    sure = {
        (source, target)
        for source_span, target_span in truth.aligned
        for source, source_word in enumerate(sources)
        for target, target_word in enumerate(targets)
        if _overlap(source_word, source_span) and _overlap(target_word, target_span)
    }
    free = set(range(len(targets))) - {target for _, target in sure}
    return Gold(
        frozenset(sure), frozenset(sure | {(source, target) for target in free for source in range(len(sources))})
    )


def _words(text: str) -> list[Span]:
    return [Span(*match.span()) for match in re.finditer(r"\S+", text)]


def _overlap(span: Span, other: Span) -> bool:
    return span.start < other.end and other.start < span.end


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
    """Rows in the order of the computation; `diagonal` is the error rate of links by position alone."""

    sentences: int
    links: int  # sure ones
    diagonal: float
    rows: tuple[AlignmentRow, ...]

    @property
    def best(self) -> AlignmentRow:
        return min(self.rows, key=lambda row: row.error)

    @property
    def best_head(self) -> AlignmentRow:
        """The head with the lowest error rate; an attention with a single head counts as one."""
        several = {row.attention for row in self.rows if row.head is not None}
        single = [row for row in self.rows if row.head is not None or row.attention not in several]
        return min(single, key=lambda row: row.error)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "best": self.best.name, "best_head": self.best_head.name}


def measure_alignments(traces: Sequence[Trace], gold: Sequence[Gold], examples: Sequence[Example]) -> AlignmentReport:
    """The error rate of every attention to the source, of the mean over heads and of each head."""
    names = traces[0].source_attentions
    if not names:
        raise UserError("this model has no attention to the source; there is nothing to align by")
    rows = []
    for name in names:
        maps = [trace.source_map(name) for trace in traces]
        rows.append(AlignmentRow(name, None, _error([align(attention) for attention in maps], gold)))
        if maps[0].heads > 1:
            by_head = zip(*(head_links(attention) for attention in maps), strict=True)
            rows += [AlignmentRow(name, head, _error(links, gold)) for head, links in enumerate(by_head)]
    baseline = [diagonal(len(example.source.split()), len(example.target.split())) for example in examples]
    return AlignmentReport(len(gold), sum(len(links.sure) for links in gold), _error(baseline, gold), tuple(rows))


def _error(predicted: Iterable[frozenset[Link]], gold: Iterable[Gold]) -> float:
    return 100 * alignment_error_rate(predicted, gold)


def render(report: AlignmentReport) -> str:
    """The report as a table."""
    width = max(18, *(len(row.name) + 2 for row in report.rows))
    lines = [f"alignment error rate in % on {report.sentences} sentences with {report.links} links; 0 is perfect", ""]
    for row in report.rows:
        lines.append(f"{row.name:<{width}}{row.error:6.1f}" + ("  all heads" if row.head is None else ""))
    lines += [f"{'(by position alone)':<{width}}{report.diagonal:6.1f}", ""]
    lines += [f"best: {report.best.name}", f"best head: {report.best_head.name}"]
    return "\n".join(lines)
