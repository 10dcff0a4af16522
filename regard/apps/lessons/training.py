"""Models trained for a lesson: whole runs in temporary directories."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.config import settle
from regard.data.examples import Example
from regard.data.files import write_pairs
from regard.experiment import run_experiment
from regard.pipeline import Pipeline, load


@contextmanager
def trained(*settings: dict[str, Any]) -> Iterator[Pipeline]:
    """A model trained with these settings (later ones win), in a run directory that is deleted afterwards."""
    single: dict[str, Any] = {"training": {"threads": 1}}
    with tempfile.TemporaryDirectory(prefix="regard-lesson-") as folder:
        run = Path(folder) / "run"
        if run_experiment(settle(single, *settings), run, progress=False).status == "interrupted":
            raise KeyboardInterrupt  # training ends early on Ctrl-C; a lesson needs all of it
        yield load(run, threads=1, engine="torch")


@contextmanager
def trained_on(examples: list[Example], *settings: dict[str, Any]) -> Iterator[Pipeline]:
    """A model trained on these pairs, of which dev and test are held out."""
    with tempfile.TemporaryDirectory(prefix="regard-lesson-") as folder:
        pairs = Path(folder) / "pairs.jsonl"
        write_pairs(pairs, examples)
        with trained(*settings, {"data": {"pairs": str(pairs)}}) as pipeline:
            yield pipeline


def greedy_report(pipeline: Pipeline) -> dict[str, Any]:
    """The evaluation on the test examples with greedy search, as plain values."""
    return pipeline.evaluate(pipeline.examples("test"), pipeline.search_with(beams=1)).as_dict()


def greedy_exact_match(pipeline: Pipeline) -> float:
    """Exact match on the test examples with greedy search, in percent."""
    return greedy_report(pipeline)["exact"]["value"]
