"""A run that captions images, from training to looking, by the command line and from Python."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import regard
from regard.checkpoint import read_facts
from regard.cli import main
from regard.config import settle
from regard.data.images import write_png
from regard.experiment import run_experiment

SCENE = "scene 7: small red circle 20,14; striped blue square 24,44"
SMALL = {"model": {"width": 16}, "training": {"steps": 6, "batch_tokens": 512, "threads": 1, "evaluate_every": 3}}


@pytest.fixture(scope="module")
def shapes_run(tiny_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = {"corpus": "shapes", "examples": 40, "dev_examples": 8, "test_examples": 8}
    return tiny_run(tmp_path_factory.mktemp("runs") / "shapes", "image-lstm", data, training={"steps": 4})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Grey squares named in two languages, and one file that is no image."""
    where = tmp_path_factory.mktemp("images")
    rows = []
    for number in range(16):
        write_png(where / f"{number}.png", np.full((20, 30, 3), 15 * number, np.uint8))
        rows += [f"{number}.png#en\tshade {number}", f"{number}.png#fr\tteinte {number}"]
    (where / "bad.png").write_bytes(b"no image")
    (where / "captions.tsv").write_text("\n".join([*rows, "bad.png#en\tnothing"]) + "\n")
    return where


@pytest.fixture(scope="module")
def folder_run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "greys"
    data = {"pairs": str(folder / "captions.tsv"), "dev_examples": 4, "test_examples": 4}
    run_experiment(settle(SMALL, {"data": data, "model": {"image_size": 16}}), out, progress=False)
    return out


def test_scenes_are_captioned_and_measured(shapes_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = regard.load(shapes_run)
    assert isinstance(model, regard.Captioner)
    assert main(["translate", str(shapes_run), SCENE, SCENE, "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and lines[0] == lines[1]
    assert main(["evaluate", str(shapes_run), "--beams", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["task"] == "captioning" and report["images"] == 8 and 0 <= report["pointing"]["value"] <= 100
    assert main(["describe", str(shapes_run)]) == 0
    assert "a cell of the image costs" in capsys.readouterr().out


@pytest.mark.parametrize("ending", ["svg", "png", "html"])
def test_looking_draws_the_image_once_a_word(
    shapes_run: Path, tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = ["--target", "a small red circle"]
    assert main(["look", str(shapes_run), SCENE, *target, "--out", str(tmp_path / f"a.{ending}")]) == 0
    assert "circle" in capsys.readouterr().out and (tmp_path / f"a.{ending}").stat().st_size > 1000


def test_a_drawn_scene_is_read_from_a_file_alike(shapes_run: Path, tmp_path: Path) -> None:
    model = regard.load(shapes_run)
    write_png(tmp_path / "a.png", model.source_codec.view(SCENE, 64))
    written, read = model.translate([SCENE, str(tmp_path / "a.png")], beams=2)
    assert (written.text, written.score) == (read.text, read.score)
    assert main(["look", "tree", str(shapes_run), str(tmp_path / "a.png"), "--beams", "2"]) == 0


def test_a_run_keeps_the_images_that_it_is_measured_on(folder_run: Path, folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(folder_run, moved)
    model = regard.load(moved)
    examples = model.run.examples("test")
    assert len(examples) == 4 and all(str(moved) in one.source and "#" in one.source for one in examples)
    assert model.evaluate(examples, model.search_with(beams=1)).images == 4
    assert main(["evaluate", str(moved)]) == 0
    skipped = read_facts(folder_run)["skipped"]
    assert any("not an image" in why or "readable" in why for why in skipped)


def test_the_word_chooses_and_must_be_known(folder_run: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", str(folder_run), f"{folder}/3.png#en", f"{folder}/3.png#fr"]) == 0
    capsys.readouterr()
    wrong = {"3.png": "a word must go with it", "3.png#it": "#it is unknown", "no.png#en": "no such file"}
    for reference, message in wrong.items():
        assert main(["translate", str(folder_run), f"{folder}/{reference}"]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1


def test_resuming_reads_the_images_again(folder: Path, tmp_path: Path) -> None:
    data = {"pairs": str(folder / "captions.tsv"), "dev_examples": 4, "test_examples": 4}
    model, rate = {"image_size": 16, "augment": 0.1}, {"schedule": "constant", "warmup_steps": 0}
    tree = settle(SMALL, {"data": data, "model": model, "training": rate})
    run_experiment(tree, tmp_path / "whole", progress=False)
    half = settle(SMALL, {"data": data, "model": model, "training": {**rate, "steps": 3}})
    run_experiment(half, tmp_path / "parts", progress=False)
    run_experiment(settle({"training": {"steps": 6}}), tmp_path / "parts", resume=True, progress=False)
    one, two = ((tmp_path / name / "last.safetensors").read_bytes() for name in ("whole", "parts"))
    assert one == two


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data.corpus", "shapes", "--model.preset", "transformer"], "the sources of shapes are images"),
        (["--data.corpus", "copy", "--model.preset", "image-lstm"], "the sources of copy are text"),
        (["--data.corpus", "shapes", "--data.images", "x"], "data.images is given"),
        (["--data.corpus", "shapes", "--model.preset", "image-lstm", "--tokenizer.shared"], "no tokens to share"),
    ],
)
def test_what_does_not_go_together_is_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["--data.examples", "20", "--data.dev-examples", "4", "--data.test-examples", "4"]
    assert main(["train", *words, *small, "--out", str(tmp_path / "run")]) == 2
    assert message in capsys.readouterr().err


def test_images_are_classified_too(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{number}.png\t{'dark' if number < 8 else 'light'}" for number in range(16)]
    (folder / "classes.tsv").write_text("\n".join(rows) + "\n")
    data = {"pairs": str(folder / "classes.tsv"), "dev_examples": 2, "test_examples": 2}
    fields = {"encoder": "grid", "decoder": "none", "image_size": 16}
    run_experiment(settle(SMALL, {"data": data, "model": fields}), tmp_path / "run", progress=False)
    assert main(["translate", str(tmp_path / "run"), f"{folder}/1.png"]) == 0
    assert capsys.readouterr().out.split()[0] in ("dark", "light")
