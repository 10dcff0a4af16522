"""The report of a sweep: Markdown, JSON, and a page that works offline."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path

from regard.apps.compare.measure import Measurement, measure
from regard.apps.compare.sweep import Sweep, run_sweep
from regard.files import write_text
from regard.plotting import COLOURS, Line, Panel, line_chart, page, table

BY_LENGTH = "Exact match by length of the source in tokens (of an image: of the caption in words)"


@dataclass(frozen=True)
class Standing:
    """All seeds of one architecture; speeds and memory are medians."""

    preset: str
    runs: tuple[Measurement, ...]

    @property
    def qualities(self) -> list[float]:
        return [run.quality.value for run in self.runs]

    @property
    def mean(self) -> float:
        return statistics.mean(self.qualities)

    def median(self, value: Callable[[Measurement], float]) -> float:
        return statistics.median(value(run) for run in self.runs)

    def cells(self) -> list[str]:
        spread = f" ({min(self.qualities):.2f} to {max(self.qualities):.2f})" if len(self.runs) > 1 else ""
        return [
            self.preset,
            f"{self.mean:.2f}{spread}",
            f"{self.runs[0].parameters:,}",
            f"{self.median(lambda run: run.training_tokens_per_second):,.0f}",
            f"{self.median(lambda run: run.decoding_sentences_per_second):,.0f}",
            f"{self.median(lambda run: run.peak_bytes) / 2**20:,.0f}",
            f"{self.median(lambda run: run.training_seconds) / 60:.1f}",
        ]


def compare(sweep: Sweep) -> Path:
    """Train and measure every run of a sweep and write the report; the path of its page."""
    measured = [measure(run) for run in run_sweep(sweep)]
    title = f"{Path(sweep.recipe).stem}: {len(sweep.presets)} architectures, {sweep.seeds} seed(s) each"
    return write_report(title, measured, sweep.out)


def write_report(title: str, measured: Sequence[Measurement], out: Path) -> Path:
    """report.md, report.json and report.html in the folder `out`; the path of the page."""
    standings = rank(measured)
    write_text(out / "report.json", json.dumps([asdict(run) for run in measured], ensure_ascii=False, indent=1) + "\n")
    write_text(out / "report.md", markdown(title, standings))
    write_text(out / "report.html", html(title, standings))
    return out / "report.html"


def rank(measured: Sequence[Measurement]) -> list[Standing]:
    """Best first."""
    presets = dict.fromkeys(run.preset for run in measured)
    standings = [Standing(name, tuple(run for run in measured if run.preset == name)) for name in presets]
    more = measured[0].quality.more_is_better
    return sorted(standings, key=lambda standing: -standing.mean if more else standing.mean)


def header(standings: Sequence[Standing]) -> list[str]:
    name = standings[0].runs[0].quality.name
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
    colours = {standing.preset: COLOURS[rank % len(COLOURS)] for rank, standing in enumerate(standings)}
    keys = {name: f'<span class="key" style="background:{colour}"></span> {name}' for name, colour in colours.items()}
    rows = [[keys[standing.preset], *map(escape, standing.cells()[1:])] for standing in standings]
    parts = [table(header(standings), rows)]
    lines = [
        Line(standing.preset, run.curve, colours[standing.preset]) for standing in standings for run in standing.runs
    ]
    parts.append(line_chart("", [Panel("on the development set, by step", lines)]))
    lengths = _lengths(standings)
    if lengths:
        body = [[keys[standing.preset], *_by_length(standing, lengths)] for standing in standings]
        parts.append(f"<h2>{BY_LENGTH}</h2>" + table(["", *lengths], body))
    parts.append("<h2>Outputs</h2>" + _outputs(standings, keys))
    return page(title, parts)


def _outputs(standings: Sequence[Standing], keys: dict[str, str]) -> str:
    """Of the first seed; outputs that differ from the reference are red."""
    blocks = []
    for index, (source, reference, _) in enumerate(standings[0].runs[0].outputs):
        rows = [["reference", escape(reference)]]
        for standing in standings:
            output = standing.runs[0].outputs[index][2]
            shown = escape(output) or "∅"
            cell = shown if output == reference else f'<span class="wrong">{shown}</span>'
            rows.append([keys[standing.preset], cell])
        blocks.append(f"<p><b>{escape(source) or '∅'}</b></p>" + table([], rows, "text"))
    return "\n".join(blocks)


def _lengths(standings: Sequence[Standing]) -> list[str]:
    first = standings[0].runs[0].by_length
    return [f"{low}-{high}" if low != high else f"{low}" for low, high, _ in first]


def _by_length(standing: Standing, lengths: Sequence[str]) -> list[str]:
    columns = zip(*(run.by_length for run in standing.runs), strict=True)
    values = [statistics.mean(exact for _, _, exact in column) for column in columns]
    assert len(values) == len(lengths), "all runs have the same test set"
    return [f"{value:.1f}" for value in values]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
