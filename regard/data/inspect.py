"""What is in a corpus: counts, lengths, duplicates, overlap between splits, what was skipped and why, examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from regard.data.examples import Corpus, Example, Skipped
from regard.data.pair_checks import MEANING, Identify, check_pairs
from regard.data.splits import overlap

BAR = "█"
BAR_WIDTH = 30
SHOWN = 5


@dataclass(frozen=True)
class Bin:
    """Texts with low to high (inclusive) characters or words."""

    low: int
    high: int
    count: int


@dataclass(frozen=True)
class Lengths:
    mean: float
    median: int
    longest: int
    histogram: tuple[Bin, ...]


@dataclass(frozen=True)
class Side:
    """Of one side of one split."""

    characters: Lengths
    words: Lengths
    different: int


@dataclass(frozen=True)
class Split:
    pairs: int
    duplicate_pairs: int  # pairs beyond the first of equal ones
    ambiguous_sources: int  # different sources that have several different targets
    seen_in_train: int  # pairs whose source (target, for continuation) train has too
    source: Side
    target: Side
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Reason:
    why: str
    count: int
    first: tuple[str, ...]  # where


@dataclass(frozen=True)
class Inspection:
    name: str
    task: str
    notes: tuple[str, ...]
    splits: dict[str, Split]
    skipped: tuple[Reason, ...]
    found: tuple[Reason, ...] = ()  # by the checks of pairs; first: examples

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def inspect(corpus: Corpus, examples: int = SHOWN, check: bool = False, identify: Identify | None = None) -> Inspection:
    """All figures of a corpus; `examples` of each split are shown.

    `check`: also what may be wrong with pairs that translators made; `identify`: what tells languages apart.
    """
    splits = {}
    for name, rows in corpus.splits().items():
        targets: dict[str, set[str]] = {}
        for row in rows:
            targets.setdefault(row.source, set()).add(row.target)
        splits[name] = Split(
            pairs=len(rows),
            duplicate_pairs=len(rows) - len(set(rows)),
            ambiguous_sources=sum(len(different) > 1 for source, different in targets.items() if source),
            seen_in_train=0 if name == "train" else overlap(corpus.train, rows),
            source=_side([row.source for row in rows]),
            target=_side([row.target for row in rows]),
            examples=tuple(rows[:examples]),
        )
    found: tuple[Reason, ...] = ()
    if check and corpus.task == "translation":
        found = _findings([row for rows in corpus.splits().values() for row in rows], identify, corpus.languages)
    return Inspection(corpus.name, corpus.task, corpus.notes, splits, reasons(corpus.skipped), found)


def _findings(pairs: list[Example], identify: Identify | None, languages: tuple[str, str] | None) -> tuple[Reason, ...]:
    """What the checks of pairs found, with the first few pairs in place of files and lines."""
    found = []
    for pair, problems in zip(pairs, check_pairs(pairs, identify, languages), strict=True):
        shown = f"{_shown(pair.source, 40)} → {_shown(pair.target, 40)}"
        found += [Skipped(shown, MEANING[check]) for check in problems]
    return reasons(found)


def reasons(skipped: Sequence[Skipped]) -> tuple[Reason, ...]:
    """The same reason counted together, the most frequent first, with the first few places."""
    places: dict[str, list[str]] = {}
    for example in skipped:
        places.setdefault(example.why, []).append(example.where)
    grouped = [Reason(why, len(where), tuple(where[:3])) for why, where in places.items()]
    return tuple(sorted(grouped, key=lambda reason: (-reason.count, reason.why)))


def _side(texts: list[str]) -> Side:
    return Side(lengths([len(t) for t in texts]), lengths([len(t.split()) for t in texts]), len(set(texts)))


def lengths(values: list[int], bins: int = 10) -> Lengths:
    """Mean, median, maximum and a histogram of at most `bins` equally wide, round bins."""
    if not values:
        return Lengths(0.0, 0, 0, ())
    ordered = sorted(values)
    low, high = ordered[0], ordered[-1]
    width = next(w * 10**e for e in range(12) for w in (1, 2, 5) if high // (w * 10**e) - low // (w * 10**e) < bins)
    counts = Counter(value // width for value in values)
    histogram = tuple(Bin(n * width, (n + 1) * width - 1, counts[n]) for n in range(low // width, high // width + 1))
    return Lengths(sum(values) / len(values), ordered[len(ordered) // 2], high, histogram)


def render(inspection: Inspection) -> str:
    """Plain text for a terminal."""
    lines = [f"{inspection.name} ({inspection.task})", ""]
    heads = ["split", "pairs", "duplicates", "ambiguous", "also in train", "sources", "targets"]
    table = [heads]
    for name, split in inspection.splits.items():
        counts = (split.pairs, split.duplicate_pairs, split.ambiguous_sources, split.seen_in_train)
        table.append([name, *(f"{n:,}" for n in (*counts, split.source.different, split.target.different))])
    widths = [max(len(row[i]) for row in table) for i in range(len(heads))]
    for first, *rest in table:
        cells = [f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  ".join([f"{first:<{widths[0]}}", *cells]))
    lines += ["duplicates: equal pairs beyond the first; ambiguous: sources with several targets;"]
    lines += ["sources, targets: how many are different", ""]
    lines += _histograms(inspection.splits["train"])
    lines += [f"note: {note}" for note in inspection.notes]
    total = sum(reason.count for reason in inspection.skipped)
    lines.append(f"skipped: {total:,}" if total else "skipped: none")
    for reason in inspection.skipped:
        more = ", …" if reason.count > len(reason.first) else ""
        lines.append(f"  {reason.count:,} × {reason.why} ({', '.join(reason.first)}{more})")
    if inspection.found:
        lines.append("to look at (regard data clean leaves such pairs out):")
    for reason in inspection.found:
        lines.append(f"  {reason.count:,} × {reason.why}")
        lines += [f"    {shown}" for shown in reason.first]
    for name, split in inspection.splits.items():
        lines += ["", f"{name}:"]
        lines += [f"  {_shown(example.source)} → {_shown(example.target)}" for example in split.examples]
    return "\n".join(lines)


def _histograms(split: Split) -> list[str]:
    lines = []
    for name, side in (("source", split.source), ("target", split.target)):
        for unit, counts in (("characters", side.characters), ("words", side.words)):
            if counts.longest == 0:
                continue
            lines.append(
                f"train {name}, {unit}: mean {counts.mean:.1f}, median {counts.median}, longest {counts.longest}"
            )
            most = max(b.count for b in counts.histogram)
            labels = [f"{b.low}" if b.low == b.high else f"{b.low}-{b.high}" for b in counts.histogram]
            width = max(map(len, labels))
            for label, b in zip(labels, counts.histogram, strict=True):
                bar = BAR * max(round(BAR_WIDTH * b.count / most), 1 if b.count else 0)
                lines.append(f"  {label:>{width}}  {bar:<{BAR_WIDTH}} {b.count:,}")
            lines.append("")
    return lines


def _shown(text: str, width: int = 100) -> str:
    """On one line; line ends and tabs are shown, long texts end in …"""
    flat = text.replace("\n", "⏎").replace("\r", "␍").replace("\t", "⇥")
    return flat if len(flat) <= width else flat[: width - 1] + "…"
