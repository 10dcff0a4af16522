"""What the pages need to be executed quickly.

The rule: commands and code run as they are printed, but every training is cut to a few steps of a small model on few
examples (`cut`, the only change), and `runs/dates`, which `make demo` would have made, is there already.
The slow test trains `runs/dates` in full, or takes the directory in REGARD_DOCS_RUN, and compares the outputs, too.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from regard.apps.compare.sweep import Sweep, SweepRun
from regard.config import DataSettings, Settings, Tree, read_recipe, settle
from regard.data import load_corpus, write_pairs
from regard.experiment import run_experiment
from regard.pipeline.interface import Pipeline

STEPS, RESUMED_STEPS, WIDTH, EXAMPLES, HELD_OUT = 3, 5, 32, 200, 10


def cut(config: Settings, resume: bool = False) -> Settings:
    """The same experiment in about a second."""
    if resume:  # nothing else may change
        more = {"steps": RESUMED_STEPS} if config.training.steps else {}
        return config.model_copy(update={"training": config.training.model_copy(update=more)})
    training = {"steps": STEPS, "evaluate_every": STEPS, "warmup_steps": 1, "batch_tokens": 512, "threads": 1}
    embedded = {"examples": EXAMPLES, "dev_examples": HELD_OUT, "test_examples": HELD_OUT}
    held_out = {"dev_examples": HELD_OUT, "test_examples": HELD_OUT}
    data = embedded if config.data.corpus else held_out
    changes = {"training": training, "data": data, "model": {"width": min(config.model.width or WIDTH, WIDTH)}}
    return settle(config.model_dump(exclude_unset=True), changes)


def provide_dates(folder: Path) -> Path:
    run_experiment(cut(settle(read_recipe("dates"))), folder, progress=False)
    return folder


@pytest.fixture(scope="session")
def dates_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make demo` makes, after three steps."""
    return provide_dates(tmp_path_factory.mktemp("docs") / "dates")


@pytest.fixture(scope="session")
def trained_dates_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make demo` makes: minutes."""
    given = os.environ.get("REGARD_DOCS_RUN")
    if given:
        return Path(given)
    folder = tmp_path_factory.mktemp("docs") / "dates"
    run_experiment(settle(read_recipe("dates")), folder, progress=False)
    return folder


@pytest.fixture
def short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every training that the command line or Python starts is cut."""
    import regard.apps.compare.sweep as sweep_room
    import regard.apps.lessons.antecedent as antecedent
    import regard.apps.lessons.neighbours as neighbours
    import regard.experiment.run as room

    def cut_experiment(config: Settings, out: Path | str, resume: bool = False, progress: bool = True):
        return run_experiment(cut(config, resume), out, resume, progress)

    train_in_a_process = sweep_room._train

    def cut_training(sweep: Sweep, run: SweepRun) -> None:
        """A comparison trains in processes of its own, which get their settings as flags."""
        small: Tree = {
            "training": {"steps": STEPS, "evaluate_every": STEPS, "warmup_steps": 1},
            "data": {"examples": EXAMPLES, "dev_examples": HELD_OUT, "test_examples": HELD_OUT},
            "model": {"width": WIDTH},
        }
        settings = {
            section: {**sweep.settings.get(section, {}), **small.get(section, {})}
            for section in {*sweep.settings, *small}
        }
        train_in_a_process(replace(sweep, settings=settings), run)

    def reference_pairs(teacher: Pipeline, data: DataSettings, folder: Path, progress: object = None) -> int:
        """In place of a teacher's outputs, of which untrained weights have none that end: the references."""
        folder.mkdir()
        few = {"examples": EXAMPLES, "dev_examples": HELD_OUT, "test_examples": HELD_OUT}
        for split, examples in load_corpus(data.model_copy(update=few)).splits().items():
            write_pairs(folder / f"{split}.tsv", examples)
        return 0

    name_neighbours, resolve_pronouns = neighbours.name_neighbours, antecedent.resolve_pronouns
    monkeypatch.setattr(neighbours, "name_neighbours", lambda stack: name_neighbours(replace(stack, steps=STEPS)))
    monkeypatch.setattr(
        antecedent, "resolve_pronouns", lambda job: resolve_pronouns(replace(job, steps=STEPS, stories=EXAMPLES))
    )
    monkeypatch.setattr("regard.experiment.distill.distil", reference_pairs)
    monkeypatch.setattr(sweep_room, "_train", cut_training)
    monkeypatch.setattr("regard.experiment.run_experiment", cut_experiment)
    monkeypatch.setattr(room, "run_experiment", cut_experiment)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short_training: None) -> Iterator[Path]:
    """An empty folder to work in, with nothing but what a reader brings along."""
    monkeypatch.chdir(tmp_path)
    bin_folder = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{bin_folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)
