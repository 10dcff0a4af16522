"""The chart of a probe: accuracy by layer, with the baselines it must be compared with."""

from __future__ import annotations

from regard.analysis.probes import ProbeReport
from regard.plotting import COLOURS, Axis, Line, Panel, line_chart


def probe_chart(report: ProbeReport) -> str:
    curves = {
        "probe": [row.accuracy for row in report.rows],
        "random weights": [row.random_weights for row in report.rows],
        "control task": [row.control for row in report.rows],
        "majority": [row.majority for row in report.rows],
    }
    lines = [
        Line(name, [(float(layer), value) for layer, value in enumerate(values)], COLOURS[index])
        for index, (name, values) in enumerate(curves.items())
    ]
    layers = Axis(low=-0.5, high=len(report.rows) - 0.5, names=tuple(row.layer for row in report.rows))
    title = f"{report.target}: accuracy in % of held-out states, by layer"
    return line_chart("", [Panel(title, lines, x=layers, y=Axis(low=0.0, high=102.0))])
