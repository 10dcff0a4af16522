"""Plots by matplotlib (the extra [plot])."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import UserError

if TYPE_CHECKING:
    from regard.analysis.probes import ProbeReport


def probe_plot(report: ProbeReport, path: str | Path) -> Path:
    """Accuracy by layer: the probe, and what it must be compared with."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError("a plot needs matplotlib: pip install 'regard[plot]'") from None
    path = Path(path)
    if path.suffix not in (".svg", ".png"):
        raise UserError(f"{path}: a plot is saved as .svg or .png; name the file so")
    layers = [row.layer for row in report.rows]
    figure = Figure(figsize=(max(5.0, 1.1 * len(layers)), 4), layout="constrained")
    axis = figure.subplots()
    series = {
        "probe": "accuracy",
        "random weights": "random_weights",
        "control task": "control",
        "majority": "majority",
    }
    for label, key in series.items():
        axis.plot(layers, [getattr(row, key) for row in report.rows], marker="o", label=label)
    axis.set_ylim(0, 102)
    axis.set_ylabel(f"{report.target}, accuracy in % of held-out states")
    axis.tick_params(axis="x", rotation=30)
    axis.legend(frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=144)
    return path
