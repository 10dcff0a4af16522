"""The measurements of one run of a sweep."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from regard.apps.compare.sweep import SweepRun
from regard.pipeline import load
from regard.training.report import read_metrics

EXAMPLES, DECODED = 8, 200


@dataclass(frozen=True)
class Quality:
    name: str
    value: float
    more_is_better: bool


@dataclass(frozen=True)
class Measurement:
    """One run: its report on the test set, speeds, memory, the curve of its development metric, and some outputs."""

    preset: str
    seed: int
    quality: Quality
    parameters: int
    training_tokens_per_second: float
    training_seconds: float
    decoding_sentences_per_second: float
    peak_bytes: int
    report: dict[str, Any]
    curve: list[tuple[float, float]]  # step, development metric
    outputs: list[tuple[str, str, str]]  # source, reference, output

    @property
    def by_length(self) -> list[tuple[int, int, float]]:
        return [(bucket["shortest"], bucket["longest"], bucket["exact"]) for bucket in self.report.get("by_length", [])]


def quality_of(report: dict[str, Any], metric: str) -> Quality:
    """The number to compare by: on the test set, the metric that selected the checkpoint on the development set."""
    match report["task"]:
        case "translation" | "captioning":
            key = metric if metric in ("exact", "bleu", "chrf") else "chrf"
            return Quality({"exact": "exact match", "bleu": "BLEU", "chrf": "chrF"}[key], report[key]["value"], True)
        case "classification" | "tagging":
            return Quality("accuracy", report["accuracy"]["value"], True)
    return Quality("bits per character", report["bits_per_character"], False)


def measure(run: SweepRun) -> Measurement:
    """Evaluate a run on its own test set."""
    model = load(run.path, engine="torch")
    examples = model.run.examples("test")
    decoded = examples[:DECODED]
    start = time.perf_counter()
    results = model.translate_all([example.source for example in decoded], model.search)
    seconds = time.perf_counter() - start
    report = model.evaluate(examples, model.search).as_dict()
    metrics = read_metrics(run.path / "metrics.jsonl")
    metric = model.run.plan.training.metric
    shown = zip(examples[:EXAMPLES], results[:EXAMPLES], strict=True)
    training_seconds = metrics[-1]["seconds"]
    return Measurement(
        preset=run.preset,
        seed=run.seed,
        quality=quality_of(report, metric),
        parameters=model.run.facts["parameters"],
        training_tokens_per_second=sum(line["tokens"] for line in metrics) / training_seconds,
        training_seconds=training_seconds,
        decoding_sentences_per_second=len(decoded) / seconds,
        peak_bytes=run.peak_bytes,
        report=report,
        curve=[(line["step"], line["dev"][metric]) for line in metrics if "dev" in line],
        outputs=[(example.source, example.target, result.text) for example, result in shown],
    )
