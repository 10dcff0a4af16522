"""One report of a contest: Markdown, JSON, and a page that works offline."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path

from regard.apps.compare.measure import Measured
from regard.files import write_text
from regard.plotting import COLOURS, Line, Panel, page, picture, table

BY_LENGTH = "Exact match by length in tokens: of the source, or of the caption of a picture"


@dataclass(frozen=True)
class Standing:
    """All seeds of one architecture; speeds and memory are medians."""

    preset: str
    entries: tuple[Measured, ...]

    @property
    def qualities(self) -> list[float]:
        return [entry.quality.value for entry in self.entries]

    @property
    def mean(self) -> float:
        return statistics.mean(self.qualities)

    def median(self, value: Callable[[Measured], float]) -> float:
        return statistics.median(value(entry) for entry in self.entries)

    def cells(self) -> list[str]:
        spread = f" ({min(self.qualities):.2f} to {max(self.qualities):.2f})" if len(self.entries) > 1 else ""
        return [
            self.preset,
            f"{self.mean:.2f}{spread}",
            f"{self.entries[0].parameters:,}",
            f"{self.median(lambda one: one.training_tokens_per_second):,.0f}",
            f"{self.median(lambda one: one.decoding_sentences_per_second):,.0f}",
            f"{self.median(lambda one: one.peak_bytes) / 2**20:,.0f}",
            f"{self.median(lambda one: one.training_seconds) / 60:.1f}",
        ]


def write_report(title: str, measured: Sequence[Measured], out: Path) -> Path:
    """report.md, report.json and report.html in the folder `out`; the path of the page."""
    standings = rank(measured)
    write_text(out / "report.json", json.dumps([asdict(one) for one in measured], ensure_ascii=False, indent=1) + "\n")
    write_text(out / "report.md", markdown(title, standings))
    write_text(out / "report.html", html(title, standings))
    return out / "report.html"


def rank(measured: Sequence[Measured]) -> list[Standing]:
    """Best first."""
    presets = dict.fromkeys(one.preset for one in measured)
    standings = [Standing(name, tuple(one for one in measured if one.preset == name)) for name in presets]
    more = measured[0].quality.more_is_better
    return sorted(standings, key=lambda one: -one.mean if more else one.mean)


def header(standings: Sequence[Standing]) -> list[str]:
    name = standings[0].entries[0].quality.name
    rest = ["training, target tokens/s", "decoding, sentences/s", "peak memory, MiB", "training, minutes"]
    return ["architecture", name, "parameters", *rest]


def markdown(title: str, standings: Sequence[Standing]) -> str:
    titles = header(standings)
    lines = [f"# {title}", "", _row(titles), "|---|" + "---:|" * (len(titles) - 1)]
    lines += [_row(standing.cells()) for standing in standings]
    lengths = _lengths(standings)
    if lengths:
        lines += ["", f"{BY_LENGTH}:", ""]
        lines += [_row(["architecture", *lengths]), "|---|" + "---:|" * len(lengths)]
        lines += [_row([standing.preset, *_by_length(standing, lengths)]) for standing in standings]
    return "\n".join(lines) + "\n"


def html(title: str, standings: Sequence[Standing]) -> str:
    """The table, the curves on one axis, quality by length, and outputs side by side."""
    colours = {one.preset: COLOURS[place % len(COLOURS)] for place, one in enumerate(standings)}
    keys = {name: f'<span class="key" style="background:{colour}"></span> {name}' for name, colour in colours.items()}
    rows = [[keys[one.preset], *map(escape, one.cells()[1:])] for one in standings]
    parts = [table(header(standings), rows)]
    lines = [Line(one.preset, entry.curve, colours[one.preset]) for one in standings for entry in one.entries]
    parts.append(picture("", [Panel("on the development set, by step", lines)]))
    lengths = _lengths(standings)
    if lengths:
        body = [[keys[one.preset], *_by_length(one, lengths)] for one in standings]
        parts.append(f"<h2>{BY_LENGTH}</h2>" + table(["", *lengths], body))
    parts.append("<h2>Outputs</h2>" + _outputs(standings, keys))
    return page(title, parts)


def _outputs(standings: Sequence[Standing], keys: dict[str, str]) -> str:
    """Of the first seed; what differs from the reference is red."""
    blocks = []
    for place, (source, reference, _) in enumerate(standings[0].entries[0].outputs):
        rows = [["reference", escape(reference)]]
        for one in standings:
            output = one.entries[0].outputs[place][2]
            shown = escape(output) or "∅"
            rows.append([keys[one.preset], shown if output == reference else f'<span class="wrong">{shown}</span>'])
        blocks.append(f"<p><b>{escape(source) or '∅'}</b></p>" + table([], rows, "text"))
    return "\n".join(blocks)


def _lengths(standings: Sequence[Standing]) -> list[str]:
    first = standings[0].entries[0].by_length
    return [f"{low}-{high}" if low != high else f"{low}" for low, high, _ in first]


def _by_length(standing: Standing, lengths: Sequence[str]) -> list[str]:
    columns = zip(*(entry.by_length for entry in standing.entries), strict=True)
    values = [statistics.mean(exact for _, _, exact in column) for column in columns]
    assert len(values) == len(lengths), "everyone has the same test set"
    return [f"{value:.1f}" for value in values]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
