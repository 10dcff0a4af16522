"""The task that several lessons share: words written back to front, where each letter's right place is known."""

from __future__ import annotations

from typing import Any

from regard.apps.lessons.contract import Setting
from regard.config import Tree
from regard.pipeline import Pipeline


def reversing(setting: Setting, longest: int, steps: int) -> Tree:
    """Settings for words of 1 to `longest` letters; the model is still to be chosen."""
    return {
        "data": {
            "corpus": "reverse",
            "lengths": f"1-{longest}",
            "examples": setting.pick(tiny=200, quick=20_000, full=50_000),
            "dev_examples": setting.pick(tiny=20, quick=200, full=1000),
            "test_examples": setting.pick(tiny=20, quick=500, full=1000),
        },
        "model": {"width": setting.pick(tiny=16, quick=64, full=128), "dropout": 0.0},
        "training": {
            "steps": steps,
            "batch_tokens": 640,
            "rate": 2e-3,
            "schedule": "cosine",
            "metric": "loss",
            "evaluate_every": max(steps // 10, 10),
        },
    }


def reversed_words(pipeline: Pipeline) -> dict[str, Any]:
    """The report on the test words, greedy."""
    return pipeline.evaluate(pipeline.run.examples("test"), pipeline.search_with(beams=1)).as_dict()
