"""The verbs as a user types them: in one process for speed, the start-up in a process of its own."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from regard.cli import main


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_help_names_every_verb_and_loads_no_torch() -> None:
    slow = "any(name in sys.modules for name in ('torch', 'pydantic'))"
    code = f"import sys; from regard.cli import main; main(['--help']); sys.exit({slow})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for verb in ("demo", "train", "translate", "evaluate", "look", "probe", "lesson", "compare", "describe", "data"):
        assert verb in done.stdout


def test_train_without_a_recipe_writes_a_complete_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho"]
    pairs = [(f"{a} {b}", f"{b} {a}") for a in words for b in words]
    (tmp_path / "train.src").write_text("".join(f"{source}\n" for source, _ in pairs))
    (tmp_path / "train.tgt").write_text("".join(f"{target}\n" for _, target in pairs))
    run = tmp_path / "run"
    status, _, err = said(
        capsys, "train", "--data.source", tmp_path / "train.src", "--data.target", tmp_path / "train.tgt",
        "--model.preset", "transformer", "--model.width", 16, "--training.steps", 4, "--out", run,
    )  # fmt: skip
    assert status == 0, err
    recipe = (run / "recipe.toml").read_text()
    for key in ("rate", "warmup_steps", "batch_tokens", "kind", "dropout", "steps = 4", 'preset = "transformer"'):
        assert key in recipe
    assert f"regard evaluate {run}" in err
    assert (run / "curve.svg").read_text().startswith("<svg")
    status, _, err = said(capsys, "train", "--out", run, "--model.preset", "transformer")
    assert status == 2 and "--resume" in err
    status, _, err = said(capsys, "train", run / "recipe.toml", "--out", tmp_path / "again")
    assert status == 0, err
    assert (run / "model.safetensors").read_bytes() == (tmp_path / "again" / "model.safetensors").read_bytes()


@pytest.mark.parametrize("words", [("true",), ("false",), ("True",), ("",)])
def test_a_switch_may_be_followed_by_its_value(words: tuple[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`--section.key value` holds for settings that are true or false, too."""
    given = ["describe", "transformer", "--model.tied-embeddings", *filter(None, words)]
    status, out, err = said(capsys, *given)
    assert status == 0, err
    tied = said(capsys, "describe", "transformer")[1]
    assert (out == tied) is (words != ("false",))


def test_only_settings_take_such_a_value(translator_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = said(capsys, "translate", translator_run, "--max-tokens", 3, "--", "--v1.0", "true")
    assert status == 0 and out.count("\n") == 2, err
    status, _, err = said(capsys, "train", "--data.source", "True", "--data.target", "False")
    assert status == 2 and "True" in err  # the name as it was given


def test_translate_n_lines_in_n_lines_out(
    translator_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["a b", "", "c", "d e f", ""]
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in lines))
    status, out, _ = said(capsys, "translate", translator_run, "--input", tmp_path / "in", "--output", tmp_path / "out")
    assert status == 0 and out == ""
    written = (tmp_path / "out").read_text().split("\n")
    assert len(written) == 6 and written[1] == written[4] == "" and written[0] and written[2]
    status, out, _ = said(capsys, "translate", translator_run, "--input", tmp_path / "in", "--json")
    records = [json.loads(line) for line in out.splitlines()]
    assert [record["text"] for record in records] == written[:5]
    assert {"text", "score", "log_prob", "tokens", "finished"} <= records[0].keys()


def test_translate_reads_standard_input_as_a_file(
    translator_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for content, status, words in (
        (b"a b\r\n\nc", 0, 3),
        (gzip.compress(b"a b\n\nc\n"), 0, 3),
        (b"a\nb \xe9\n", 2, "standard input:2: invalid UTF-8"),
    ):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
        code, out, err = said(capsys, "translate", translator_run)
        assert code == status and (words in err if isinstance(words, str) else len(out.splitlines()) == words)


def test_translate_reads_a_pipe(translator_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("a b\nc\n",))
    writer.start()
    status, out, _ = said(capsys, "translate", translator_run, "--input", pipe)
    writer.join()
    assert status == 0 and len(out.splitlines()) == 2


def test_translate_n_best(translator_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "translate", translator_run, "a b", "c", "--n-best", 3)
    rows = [line.split("\t") for line in out.splitlines()]
    assert status == 0 and [row[0] for row in rows] == ["1"] * 3 + ["2"] * 3
    assert all(len(row) == 3 for row in rows)


def test_translate_writes_alignments(translator_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").write_text("a\n\nb\n")
    files = ("--input", tmp_path / "in", "--alignments", tmp_path / "links")
    status, out, _ = said(capsys, "translate", translator_run, *files)
    assert status == 0 and len(out.splitlines()) == 3
    assert (tmp_path / "links").read_text() == "0-0\n\n0-0\n"


def test_an_output_that_hits_the_limit_is_reported(translator_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = said(capsys, "translate", translator_run, "a b c d", "--max-tokens", 2)
    assert status == 0 and "1 of 1 outputs reached the length limit" in err


def test_classifier_and_language_model(
    classifier_run: Path, language_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = said(capsys, "translate", classifier_run, "Königreich")
    label, probability = out.strip().split("\t")
    assert label and 0 < float(probability) <= 1
    status, out, _ = said(capsys, "translate", language_run, "The ", "--max-tokens", 9, "--sample", "--seed", 4)
    assert status == 0 and out
    status, out, _ = said(capsys, "evaluate", language_run, "--baselines")
    assert status == 0 and "gzip" in out and "5-gram" in out


def test_evaluate(translator_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "evaluate", translator_run, "--json")
    report = json.loads(out)
    assert status == 0 and report["exact"]["value"] >= 90
    assert "version:" in report["bleu"]["signature"] and report["by_length"]
    (tmp_path / "source").write_text("a b\nc\n")
    (tmp_path / "reference").write_text("a b\nc\n")
    files = ("--source", tmp_path / "source", "--reference", tmp_path / "reference")
    status, out, _ = said(capsys, "evaluate", translator_run, *files)
    assert status == 0 and "2 sentences" in out and "tok:13a" in out
    status, out, _ = said(capsys, "evaluate", translator_run, *files, "--tokenize", "none")
    assert status == 0 and "tok:none" in out


def test_evaluate_alignments(
    translator_run: Path, tiny_run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("source", "a b\nc\n"), ("reference", "a b\nc\n"), ("gold", "0-0 1-1\n0-0\n")):
        (tmp_path / name).write_text(text)
    files = ("--source", tmp_path / "source", "--reference", tmp_path / "reference")
    status, out, _ = said(capsys, "evaluate", translator_run, *files, "--alignments", tmp_path / "gold", "--json")
    report = json.loads(out)
    assert status == 0 and report["links"] == 3 and report["diagonal"] == 0
    assert report["best_head"].startswith("decoder.layers.0.cross_attention.")
    status, _, err = said(capsys, "evaluate", translator_run, "--alignments", tmp_path / "gold")
    assert status == 2 and "2 lines for 20 sentences" in err
    for text, why in (("0-0 1-2\n0-0\n", "gold:1: 1-2 is outside"), ("\n0?0\n", "no sure link")):
        (tmp_path / "gold").write_text(text)
        status, out, err = said(capsys, "evaluate", translator_run, *files, "--alignments", tmp_path / "gold")
        assert (status, out) == (2, "") and why in err
    status, _, err = said(capsys, "evaluate", translator_run, "--alignments", "corpus")
    assert status == 2 and "only dates and the grammars have true alignments" in err
    dates = tiny_run(tmp_path / "dates", "lstm-dot", {"corpus": "dates"}, training={"steps": 2})
    status, out, _ = said(capsys, "evaluate", dates, "--alignments", "corpus")
    assert status == 0 and "decoder.attention" in out and "by position alone" in out


def test_look_draws_and_saves(translator_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "look", translator_run, "a b", "--out", tmp_path / "map.svg")
    assert status == 0 and "decoder.layers.0.cross_attention" in out and "█" in out
    assert (tmp_path / "map.svg").read_text().count(">head ") == 2
    status, out, _ = said(capsys, "look", translator_run, "a b", "--target", "b a", "--out", tmp_path / "all.html")
    page = (tmp_path / "all.html").read_text()
    assert status == 0 and "encoder.layers.0.self_attention" in page and "decoder.layers.0.self_attention" in page


def test_look_follows_a_beam(translator_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "look", "tree", translator_run, "a b", "--beams", 2)
    assert status == 0 and out.startswith("step 1\n") and "■ score" in out
    ways = [line for line in out.splitlines() if line.startswith("  * ")]
    assert len(ways) == max(int(line.split()[1]) for line in out.splitlines() if line.startswith("step "))
    assert said(capsys, "look", "tree", translator_run, "a b", "--beams", 1)[0] == 2
    picture = tmp_path / "tree.svg"
    status, _, err = said(capsys, "look", "tree", translator_run, "a b", "--beams", 2, "--out", picture)
    assert status == 0 and str(picture) in err and 'class="best"' in picture.read_text()
    status, out, _ = said(capsys, "look", "tree", translator_run, "a b", "--out", tmp_path / "tree.pdf")
    assert status == 2 and not out


def test_look_at_everything_and_through_all_layers(
    translator_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = said(capsys, "look", translator_run, "a b", "--all", "--out", tmp_path / "all.svg")
    assert status == 0 and out.count("mean of 2 heads") == 3 and "\nencoder.rollout\n" in out
    assert "decoder.layers.0.self_attention" in (tmp_path / "all.svg").read_text()
    status, out, _ = said(capsys, "look", translator_run, "a b", "--attention", "decoder.rollout")
    assert status == 0 and "\ndecoder.rollout\n" in out
    assert said(capsys, "look", translator_run, "a b", "--all", "--attention", "decoder.rollout")[0] == 2


def test_nothing_is_printed_before_a_refusal(
    translator_run: Path, language_run: Path, tiny_run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blind = tiny_run(tmp_path / "blind", "gru-fixed", {"corpus": "copy", "lengths": "1-4"}, training={"steps": 2})
    links = tmp_path / "links"
    for arguments, why in (
        (("look", blind, "a b"), "no attention to look at"),
        (("look", language_run, "a b"), "no attention to look at"),
        (("look", translator_run, "a b", "--attention", "nope"), "nope"),
        (("look", translator_run, "a b", "--out", tmp_path / "map.gif"), "map.gif"),
        (("look", translator_run, "a b", "--out", tmp_path / "no" / "map.svg"), f"no folder {tmp_path / 'no'}"),
        (("look", "tree", translator_run, "a b", "--target", "a"), "--target"),
        (("look", "tree", translator_run, "a b", "--all"), "--all"),
        (("look", "tree", translator_run, "a b", "--short-list"), "--no-short-list"),
        (("look", "ablation", translator_run, "a", "decoder.layers.0.cross_attention.7"), "heads 0 to 1"),
        (("lesson", "mask", "--out", tmp_path / "no" / "page.html"), f"no folder {tmp_path / 'no'}"),
        (("evaluate", blind, "--engine", "ctranslate2"), "--engine ctranslate2"),
        (("evaluate", language_run, "--tokenize", "none"), "--tokenize none"),
        (("look", "tree", language_run, "a b"), "this run is for continuation"),
        (("evaluate", language_run, "--alignments", "corpus"), "only translations have alignments"),
        (("evaluate", language_run, "--errors", "2"), "--errors 2: a language model has no outputs to compare"),
        (("translate", language_run, "a b", "--alignments", links), "only translations have alignments"),
        (("translate", blind, "a b", "--alignments", links), "no attention"),
        (("translate", translator_run, "a b", "--alignments", links, "--attention", "nope"), "nope"),
    ):
        status, out, err = said(capsys, *arguments)
        assert (status, out) == (2, "") and why in err, arguments
    assert not links.exists()


def test_look_ablation(translator_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "look", "ablation", translator_run, "a b", "decoder.layers.0.cross_attention.1")
    assert status == 0 and [line.split()[0] for line in out.splitlines()] == ["by", "whole", "changed"]
    cross, states = "decoder.layers.0.cross_attention", "encoder.layers.0.states"
    for options in (("--uniform", cross), ("--permute", f"{cross}.1"), ("--force", f"{cross}=1"), ("--hide", "0")):
        status, out, _ = said(capsys, "look", "ablation", translator_run, "a b", *options)
        assert status == 0 and len(out.splitlines()) == 3, options
    status, out, _ = said(capsys, "look", "ablation", translator_run, "abc", "--patch", states, "--other", "dbc")
    assert status == 0 and out.splitlines()[1].split()[-1] != out.splitlines()[2].split()[-1]
    for options, why in (
        (("--force", cross), "write an attention, = and a place"),
        (("--patch", states), "give both"),
        (("--patch", states, "--other", "a"), "take texts of equal length"),
        (("--patch", "decoder.x", "--other", "abc"), "no states of the encoder are called 'decoder.x'"),
        (("--force", f"{cross}=9"), "there is no key 9"),
    ):
        status, out, err = said(capsys, "look", "ablation", translator_run, "abc", *options)
        assert (status, out) == (2, "") and why in err, options
    status, out, err = said(capsys, "look", "ablation", translator_run, "a b")
    assert (status, out) == (2, "") and "name an attention or a head" in err


def test_probe(translator_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "probe", translator_run, "--out", tmp_path / "probe.svg")
    assert status == 0 and "encoder.layers.0" in out and "decoder.layers.0" in out
    assert "<svg" in (tmp_path / "probe.svg").read_text()
    words = "".join(f"{a}\tone\n{b}\tother\n\n" for a, b in zip("abcdefghij", "klmnopqrst", strict=True))
    (tmp_path / "tags").write_text(words)
    status, out, _ = said(capsys, "probe", translator_run, "--tags", tmp_path / "tags", "--json")
    report = json.loads(out)
    assert status == 0 and report["classes"] == 2 and report["rows"][0]["layer"] == "encoder.layers.0"


def test_probe_ablation_and_roles(translator_run: Path, language_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "probe", "ablation", translator_run, "--json")
    report = json.loads(out)
    assert status == 0 and report["sentences"] == 20 and len(report["rows"]) == 9
    status, out, _ = said(capsys, "probe", "roles", translator_run)
    assert status == 0 and "by chance" in out and "decoder.layers.0.cross_attention" in out
    assert said(capsys, "probe", "roles", translator_run, "--heads")[0] == 2
    for analysis in ("ablation", "roles"):
        status, out, err = said(capsys, "probe", analysis, language_run)
        assert status == 2 and not out and "no attention" in err


def test_describe(translator_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exercise of the lectures: width 10, one head, 300 parameters in W_q, W_k and W_v, whatever the length."""
    status, out, _ = said(capsys, "describe", "transformer", "--model.width", 10, "--model.heads", 1, "--json")
    parts = {part["name"]: part["parameters"] for part in json.loads(out)["parts"]}
    attention = "encoder.layers.0.self_attention"
    assert sum(parts[f"{attention}.{name}_proj"] for name in ("query", "key", "value")) == 300
    for name in ("lstm-additive", "dates", str(translator_run)):
        status, out, _ = said(capsys, "describe", name)
        assert status == 0 and "parameters:" in out and "multiply-adds" in out
    status, out, _ = said(capsys, "describe")
    assert "rnn-fixed-every-step" in out


def test_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "data", "list")
    for corpus in ("dates", "addition", "reverse", "stories", "languages", "prose", "home-assistant"):
        assert corpus in out
    pairs = "".join(f"{letter}\t{letter.upper()}\n" for letter in "abdefghijk")
    (tmp_path / "pairs.tsv").write_text(pairs + "c\t\na\tA\n")
    status, out, _ = said(capsys, "data", "inspect", "--data.pairs", tmp_path / "pairs.tsv", "--json")
    assert status == 0 and json.loads(out)["skipped"][0]["count"] == 1
    status, out, _ = said(capsys, "data", "inspect", "addition", "--data.examples", 50)
    assert status == 0 and "50" in out
