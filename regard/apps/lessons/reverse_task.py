"""The task of several lessons: reverse a word. The right source position of each output letter is known."""

from __future__ import annotations

from regard.apps.lessons.lesson import Budget
from regard.config import Tree


def reverse_task(budget: Budget, longest: int, steps: int) -> Tree:
    """Settings for words of 1 to `longest` letters; without the model."""
    return {
        "data": {
            "corpus": "reverse",
            "lengths": f"1-{longest}",
            "examples": budget.pick(tiny=200, quick=20_000, full=50_000),
            "dev_examples": budget.pick(tiny=20, quick=200, full=1000),
            "test_examples": budget.pick(tiny=20, quick=500, full=1000),
        },
        "model": {"width": budget.pick(tiny=16, quick=64, full=128), "dropout": 0.0},
        "training": {
            "steps": steps,
            "batch_tokens": 640,
            "rate": 2e-3,
            "schedule": "cosine",
            "metric": "loss",
            "evaluate_every": max(steps // 10, 10),
        },
    }
