"""The training curve of a run (curve.svg): losses, and the metric that selects the checkpoint, by step."""

from __future__ import annotations

from typing import Any

from regard.plotting import Line, Panel, line_chart
from regard.plotting.line_chart import smooth


def curve_svg(metrics: list[dict[str, Any]], metric: str, title: str) -> str:
    """The lines of metrics.jsonl as a chart; `metric` selects the checkpoint and has a panel of its own."""
    validations = [line for line in metrics if "dev" in line]
    best = next((line for line in reversed(validations) if line["improved"]), None)
    trained = smooth([(line["step"], line["loss"]) for line in metrics])
    validated = [(line["step"], line["dev"]["loss"]) for line in validations]
    losses = [Line("training loss", trained, kind="train", dots=False), Line("development loss", validated, kind="dev")]
    panels = [Panel("nats per token, by step", losses, _mark(best, "loss") if metric == "loss" else None)]
    if metric != "loss":
        points = [(line["step"], line["dev"][metric]) for line in validations]
        name = f"{metric} in %" if metric in ("exact", "accuracy") else metric
        panels.append(Panel(f"development {name}, by step", [Line(name, points)], _mark(best, metric)))
    return line_chart(title, panels)


def _mark(best: dict[str, Any] | None, metric: str) -> tuple[float, float] | None:
    return None if best is None else (best["step"], best["dev"][metric])
