"""Bad input: one clear line on standard error, exit code 2, no traceback, nothing lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from regard.cli import main

TRAIN = ("train", "--model.preset", "lstm-dot", "--out", "{tmp}/run")


def write(folder: Path, name: str, content: str | bytes) -> None:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "three", "a\nb\nc\n")
    write(tmp_path, "two", "a\nb\n")
    write(tmp_path, "latin", b"a\nb\n\xe9t\xe9\n")
    write(tmp_path, "empty", "")
    write(tmp_path, "a.po", 'msgid "a"\nmsgstr ""\n')
    write(tmp_path, "torn.jsonl", '{"source": "a", "target": "b"}\n{"source": \n')
    write(tmp_path, "unknown.toml", '[training]\nstepz = 4\n[data]\ncorpus = "copy"\n')
    write(tmp_path, "broken.toml", "[training\n")
    write(tmp_path, "clash.toml", '[data]\ncorpus = "copy"\n[training]\nsteps = 10\nwarmup_steps = 20\n')
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*TRAIN, "--data.source", "{tmp}/three", "--data.target", "{tmp}/two"), ["3 lines", "2"]),
        ((*TRAIN, "--data.source", "{tmp}/absent", "--data.target", "{tmp}/two"), ["absent"]),
        ((*TRAIN, "--data.source", "{tmp}/latin", "--data.target", "{tmp}/three"), ["latin:3", "UTF-8"]),
        ((*TRAIN, "--data.source", "{tmp}/empty", "--data.target", "{tmp}/empty"), ["empty"]),
        ((*TRAIN, "--data.pairs", "{tmp}/torn.jsonl"), ["torn.jsonl:2"]),
        ((*TRAIN, "--data.source", "{tmp}/two"), ["data.target"]),
        ((*TRAIN, "--data.corpus", "dats"), ["dats", "dates"]),
        (("train", "{tmp}/unknown.toml"), ["training.stepz", "did you mean 'steps'"]),
        (("train", "{tmp}/broken.toml"), ["broken.toml", "TOML"]),
        (("train", "{tmp}/clash.toml"), ["training.warmup_steps = 20", "training.steps = 10", "lower it"]),
        (("train", "nothing-like-it"), ["nothing-like-it", "dates"]),
        (("train",), ["nothing to train"]),
        (("train", "copy", "--resume"), ["--resume needs --out"]),
        ((*TRAIN, "--resume"), ["run"]),
        (("train", "--data.corpus", "copy", "--model.preset", "transfomer"), ["did you mean 'transformer'"]),
        (("train", "--data.corpus", "copy", "--model.widht", "3"), ["--model.widht", "--model.width"]),
        (("train", "--data.corpus", "copy", "--training.steps", "soon"), ["training.steps", "soon"]),
        (("train", "--data.corpus", "copy", "--training.steps", "-1"), ["training.steps", "-1"]),
        (("train", "--data.corpus", "prose", "--model.preset", "transformer", "--out", "{tmp}/p"), ["transformer"]),
        (("translate", "{tmp}/absent", "a"), ["absent"]),
        (("translate", "{tmp}", "a"), ["not a run"]),
        (("translate", "{run}", "--input", "{tmp}/absent"), ["absent"]),
        (("translate", "{run}", "--input", "{tmp}/latin"), ["latin:3"]),
        (("translate", "{run}", "a", "--beams", "0"), ["beams", "0"]),
        (("translate", "{run}", "a", "--threads", "0"), ["threads", "0"]),
        (("translate", "{run}", "\udcff"), ["UTF-8"]),
        (("translate", "{run}", "a", "--memory", "{tmp}/m.tmx"), ["--memory", "translators' files"]),
        (("translate", "{run}", "a", "--threshold", "0.5"), ["--threshold", "translators' files"]),
        (("translate", "{run}", "a", "--only", "all"), ["--only", "translators' files"]),
        (("translate", "{run}", "a", "--target-language", "fr"), ["--target-language", "translators' files"]),
        (("translate", "{run}", "a", "--resume"), ["--resume", "--shard"]),
        (("translate", "{run}", "a", "--attention", "decoder.nope"), ["decoder.nope", "--alignments"]),
        (("translate", "{run}", "--input", "{tmp}/a.po", "--output", "{tmp}/b.po", "--json"), ["a.po", "--json"]),
        (("translate", "{run}", "--input", "{tmp}/a.po", "--output", "{tmp}/b.po", "--n-best", "2"), ["--n-best"]),
        (("translate", "{run}", "--input", "{tmp}/a.po", "--output", "{tmp}/c", "--shard", "0/1"), ["a.po", "plain"]),
        (("translate", "{run}", "--shard", "0/1", "--memory", "{tmp}/m.tmx"), ["--shard", "plain lines"]),
        (("describe", "transformer", "--vocabulary", "-5"), ["vocabulary", "-5"]),
        (("evaluate", "{run}", "--reference", "{tmp}/two"), ["--source"]),
        (("translate", "{run}", "a", "--beams", "2", "--n-best", "4"), ["n_best = 4", "beams = 2"]),
        (("translate", "{run}", "a", "--output", "{tmp}/no/such/place"), ["no/such/place"]),
        (("evaluate", "{run}", "--source", "{tmp}/three", "--reference", "{tmp}/two"), ["3 lines", "2"]),
        (("evaluate", "{run}", "--source", "{tmp}/three"), ["--reference"]),
        (("look", "{run}", ""), ["empty"]),
        (("look", "{run}", "a", "--attention", "decoder.nope"), ["decoder.nope", "decoder.layers.0.cross_attention"]),
        (("look", "{run}", "a", "--out", "{tmp}/map.gif"), ["map.gif", ".svg"]),
        (("describe", "lstm-adittive"), ["did you mean 'lstm-additive'"]),
        (("describe", "transformer", "--model.heads", "3"), ["model.heads = 3", "256"]),
        (("data", "fetch", "home-asistant"), ["did you mean 'home-assistant'"]),
        (("data", "inspect", "nope"), ["nope"]),
        (("trian",), ["train"]),
    ],
)
def test_refused(
    arguments: tuple[str, ...],
    words: list[str],
    folder: Path,
    translator_run: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = sorted(path.name for path in translator_run.rglob("*"))
    status = main([argument.format(tmp=folder, run=translator_run) for argument in arguments])
    out, err = capsys.readouterr()
    assert status == 2, (out, err)
    lines = [line for line in err.splitlines() if line.startswith("regard: ")]
    assert len(lines) == 1 and err.splitlines()[-1] == lines[0]
    assert "Traceback" not in err
    for word in words:
        assert word in lines[0]
    assert sorted(path.name for path in translator_run.rglob("*")) == before


def test_another_format_version(translator_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = shutil.copytree(translator_run, tmp_path / "run")
    facts = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**facts, "format": 99}))
    assert main(["translate", str(run), "a"]) == 2
    assert "format 99" in capsys.readouterr().err


@pytest.mark.parametrize("damage", [lambda data: data[:100], lambda data: data[:-10], lambda data: b"x" * len(data)])
def test_damaged_weights(damage, translator_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = shutil.copytree(translator_run, tmp_path / "run")
    weights = run / "model.safetensors"
    weights.write_bytes(damage(weights.read_bytes()))
    assert main(["translate", str(run), "a"]) == 2
    err = capsys.readouterr().err
    assert "model.safetensors" in err and len(err.splitlines()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk(translator_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Training onto a full disk is tested in tests/experiment; here the output of a translation finds no room."""
    assert main(["translate", str(translator_run), "a", "--output", "/dev/full"]) == 2
    assert "/dev/full" in capsys.readouterr().err
