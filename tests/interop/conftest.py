"""Runs to export: tiny translation models on short texts, trained for a few steps."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from regard import train
from regard.checkpoint import MODEL, load_run
from regard.config import SearchSettings
from regard.inference import decode
from regard.interop import browser
from regard.weights import weights_of, write_tensors

WORDS = ["the", "old", "cat", "sees", "a", "blue", "bird", "über", "naïve", "42", "I'm", "(so)", "日本"]
TEXTS = ["the old cat sees", "a blue bird über", "naïve 42.", "日本 (so)", "Ж unseen", "[a] {b"]
PAIRS = [
    (f"{WORDS[i % 13]} {WORDS[(3 * i + 1) % 13]} {WORDS[(7 * i) % 13]}.", f"{WORDS[(5 * i) % 13]}, {WORDS[i % 11]}!")
    for i in range(200)
]


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """make_run(model={…}, tokenizer={…}) → a run whose weights are stirred, so that outputs differ and mostly end."""
    folder = tmp_path_factory.mktemp("interop")
    (folder / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    made: dict[str, Path] = {}

    def make(model: dict[str, Any] | None = None, tokenizer: dict[str, Any] | None = None) -> Path:
        key = repr((model, tokenizer))
        if key not in made:
            tree = {
                "data": {"pairs": str(folder / "pairs.tsv"), "dev_examples": 20, "test_examples": 5}
                | {"source_language": "en", "target_language": "fr"},
                "tokenizer": {"kind": "bpe", "size": 300, "shared": True, **(tokenizer or {})},
                "model": {"preset": "transformer", "width": 16, "depth": 2, "heads": 4, "positions": "sinusoidal"}
                | (model or {}),
                "training": {"steps": 2, "threads": 1, "evaluate_every": 2, "average": 0, "metric": "loss"},
            }
            path = folder / f"run{len(made)}"
            train(tree, path, progress=False)
            stir(path)
            made[key] = path
        return made[key]

    return make


def stir(path: Path) -> None:
    """Weights of a model that was trained for two steps say little: the first random ones that write several things."""
    for seed in range(40):
        run = load_run(path)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, parameter in run.model.named_parameters():
                parameter += 0.5 * torch.randn(parameter.shape, generator=generator)
                parameter *= 3 if "cross_attention" in name else 1
            bias = run.model.output_layer.bias
            assert isinstance(bias, torch.Tensor)
            bias[:2] -= 99
            bias[2] += 2
        sources = run.source_codec.encode_batch(TEXTS)
        found = decode(run.model, sources, SearchSettings(beams=1, max_tokens=12))
        if len({row[0].tokens for row in found if isinstance(row, list)}) >= 3:
            write_tensors(path / MODEL, weights_of(run.model))
            return
    raise AssertionError("no seed gave a lively model")


@pytest.fixture
def engine(tmp_path: Path) -> Callable[[list[dict[str, Any]]], list[Any]]:
    """engine(jobs) → what the page's modules answer to them in node; bytes in a job become a file."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: apt-get install nodejs")

    def run(jobs: list[dict[str, Any]]) -> list[Any]:
        folder = tmp_path / "engine"
        folder.mkdir(exist_ok=True)
        (folder / "package.json").write_text('{"type": "module"}')
        for name in browser.MODULES:
            (folder / name).write_text(browser.asset(name))
        for number, job in enumerate(jobs):
            weights = job.get("weights")
            if weights is not None:
                (folder / f"{number}.bin").write_bytes(weights)
        plain = [{**job, "weights": f"{number}.bin"} for number, job in enumerate(jobs)]
        (folder / "jobs.json").write_text(json.dumps(plain))
        driver = Path(__file__).with_name("engine_driver.mjs")
        done = subprocess.run([node, str(driver), str(folder)], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    return run
