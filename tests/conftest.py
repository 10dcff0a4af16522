"""One thread for everybody (two test processes share two cores), and three tiny trained runs."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest
import torch

from regard.config import settle
from regard.experiment import run_experiment
from regard.plotting.save import NO_FONT

torch.set_num_threads(1)

pytest_plugins = ["chromium", "tiny_models"]

TINY = {"training": {"steps": 60, "batch_tokens": 256, "threads": 1, "evaluate_every": 30}, "model": {"width": 16}}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """A machine without fonts draws no PNG: what needs one is skipped there."""
    try:
        return (yield)
    except Exception as error:
        if NO_FONT in str(error):
            pytest.skip(f"{NO_FONT} on this machine")
        raise


def make_run(folder: Path, preset: str, data: dict, model: dict | None = None, training: dict | None = None) -> Path:
    """A run of a few steps on a few examples; it works, it knows little."""
    small = {"examples": 300, "dev_examples": 20, "test_examples": 20}
    changes = {"data": {**small, **data}, "model": {"preset": preset, **(model or {})}, "training": training or {}}
    run_experiment(settle(TINY, changes), folder, progress=False)
    return folder


@pytest.fixture(scope="session")
def tiny_run() -> Callable[..., Path]:
    return make_run


@pytest.fixture(scope="session")
def translator_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Transformer that copies up to four letters well."""
    model = {"width": 32, "depth": 1, "heads": 2, "dropout": 0.0}
    data = {"corpus": "copy", "lengths": "1-4", "examples": 2000}
    training = {"steps": 300, "rate": 5e-3, "warmup_steps": 30, "batch_tokens": 512, "evaluate_every": 100}
    return make_run(tmp_path_factory.mktemp("runs") / "copy", "transformer", data, model, training)


@pytest.fixture(scope="session")
def language_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "prose", "rnn-language", {"corpus": "prose"})


@pytest.fixture(scope="session")
def classifier_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "languages", "lstm-classifier", {"corpus": "languages"})
