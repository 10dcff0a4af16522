"""What is no OPUS-MT model is refused by name; what is one becomes a run that every verb takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from opus_fixture import texts, write_opus_mt

from regard.cli import main
from regard.errors import UserError
from regard.interop import import_model


@pytest.mark.parametrize(
    ("file", "program"),
    [
        ("checkpoint_best.pt", "fairseq, which are pickled"),
        ("best.ckpt", "JoeyNMT"),
        ("demo_step_100.pt", "OpenNMT-py"),
        ("params.best", "sockeye"),
        ("model.00.safetensors", "eole"),
        ("model.bin", "CTranslate2"),
        ("other.txt", r"config\.json cannot be read"),
    ],
)
def test_others_are_named(file: str, program: str, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / file).write_bytes(b"x")
    with pytest.raises(UserError, match=program):
        import_model(tmp_path / "model", tmp_path / "run")
    with pytest.raises(UserError, match="is not a folder"):
        import_model(tmp_path / "nothing", tmp_path / "run")


def test_an_imported_run_is_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers", reason="only tests need it: pip install transformers")
    folder, run = write_opus_mt(tmp_path / "opus"), tmp_path / "run"

    def said(*arguments: object, status: int = 0) -> str:
        assert main([str(argument) for argument in arguments]) == status
        captured = capsys.readouterr()
        return captured.out + captured.err

    assert "licence: cc-by-4.0" in said("import", "opus-mt", folder, "--out", run)
    assert "exists already" in said("import", "opus-mt", folder, "--out", run, status=2)
    assert said("translate", run, "ti nort oe.", "--beams", 2, "--max-tokens", 9)
    description = said("describe", run)
    assert "opus (opus-mt), licence cc-by-4.0" in description and 'start = "zero"' in description
    sources, references = tmp_path / "s.txt", tmp_path / "r.txt"
    sources.write_text("".join(f"{line}\n" for line in texts(4)))
    references.write_text("".join(f"{line}\n" for line in texts(4, 2)))
    scored = said("evaluate", run, "--source", sources, "--reference", references, "--beams", 1, "--max-tokens", 9)
    assert "BLEU" in scored
    assert "holds no test examples" in said("evaluate", run, status=2)
    assert "was imported" in said("train", "--resume", "--out", run, status=2)
    assert said("look", run, "ti nort.", "--target", "ti")
    pairs, trained = tmp_path / "memory.tsv", tmp_path / "trained"
    pairs.write_text("".join(f"{a}\t{b}\n" for a, b in zip(texts(60), texts(60, 2), strict=True)))
    options = ("--data.dev-examples", 5, "--data.test-examples", 5, "--training.steps", 3, "--training.threads", 1)
    said("train", "--data.pairs", pairs, "--training.init-from", run, "--out", trained, *options)
    assert "trained on from opus (opus-mt), licence cc-by-4.0" in said("describe", trained)
    assert said("evaluate", trained, "--beams", 1, "--max-tokens", 9)
    said("train", "--data.pairs", pairs, "--training.init-from", folder, "--out", tmp_path / "direct", *options)
    assert (tmp_path / "direct-imported" / "run.json").is_file()
    same = [(place / "model.safetensors").read_bytes() for place in (trained, tmp_path / "direct")]
    assert same[0] == same[1] != (run / "model.safetensors").read_bytes()
