"""Whole runs: what they leave behind, how they are interrupted and resumed, and what they refuse."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.checkpoint import load_run
from regard.config import Settings, merge, read_recipe, settle
from regard.data.batches import encode_pairs, make_batch
from regard.errors import UserError
from regard.evaluation.evaluate import teacher_forced
from regard.experiment import RunResult, resolve, run_experiment
from regard.experiment.setup import Setup
from regard.experiment.validation import make_validate
from regard.training.loop import Validate
from regard.training.microbatches import Accumulated, Position
from regard.training.report import ProgressLine, StepReport, read_metrics
from regard.training.team import Team
from regard.weights import read_tensors

TINY: dict[str, Any] = {
    "data": {"corpus": "copy", "examples": 120, "dev_examples": 20, "test_examples": 10, "lengths": "1-5"},
    "model": {"preset": "lstm-dot", "width": 16, "dropout": 0.2},
    "training": {"steps": 14, "batch_tokens": 128, "evaluate_every": 5, "average": 2, "threads": 1},
}


def tiny(**sections: dict[str, Any]) -> Settings:
    return settle(merge(TINY, sections))


def go(out: Path, config: Settings | None = None, resume: bool = False) -> RunResult:
    return run_experiment(config or (Settings() if resume else tiny()), out, resume, progress=False)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run never interrupted."""
    out = tmp_path_factory.mktemp("whole") / "run"
    go(out)
    return out


def at_step(monkeypatch: pytest.MonkeyPatch, step: int, act: Callable[[], None]) -> None:
    """Do something when this step is reported."""
    show = ProgressLine.show

    def shown(line: ProgressLine, report: StepReport) -> None:
        show(line, report)
        if report.step == step:
            monkeypatch.setattr(ProgressLine, "show", show)
            act()

    monkeypatch.setattr(ProgressLine, "show", shown)


def assert_same_run(one: Path, two: Path) -> None:
    for name in ("model", "last", "best"):
        assert (one / f"{name}.safetensors").read_bytes() == (two / f"{name}.safetensors").read_bytes(), name
    (tensors, numbers), (others, other_numbers) = (read_tensors(path / "training.safetensors") for path in (one, two))
    assert tensors.keys() == others.keys() and all(torch.equal(tensors[name], others[name]) for name in tensors)
    assert {**numbers, "seconds": 0} == {**other_numbers, "seconds": 0}
    lines, other_lines = (read_metrics(path / "metrics.jsonl") for path in (one, two))
    assert [{**line, "seconds": 0} for line in lines] == [{**line, "seconds": 0} for line in other_lines]


# --- what a run leaves behind ---


def test_a_run_is_whole(whole: Path) -> None:
    names = {path.name for path in whole.iterdir()}
    expected = "recipe.toml run.json source.tokenizer.json model.safetensors last.safetensors best.safetensors"
    assert names >= {*expected.split(), "training.safetensors", "metrics.jsonl", "curve.svg", "data"}
    assert not [name for name in names if name.startswith(".")]
    run = load_run(whole)
    assert run.task == "translation" and len(run.examples("dev")) == 20 and len(run.examples("test")) == 10
    facts = run.facts
    assert facts["status"] == "finished" and facts["results"]["ended"] == "training.steps"
    assert facts["parameters"] == sum(p.numel() for p in run.model.parameters())
    assert [line["step"] for line in read_metrics(whole / "metrics.jsonl")] == list(range(1, 15))
    assert [line["step"] for line in read_metrics(whole / "metrics.jsonl") if "dev" in line] == [5, 10, 14]
    assert (whole / "curve.svg").read_text().startswith("<svg")


def test_the_recipe_is_complete_and_gives_the_same_run(whole: Path, tmp_path: Path) -> None:
    recipe = settle(read_recipe(str(whole / "recipe.toml")))
    go(tmp_path / "again", recipe)
    assert load_run(tmp_path / "again").plan == load_run(whole).plan
    assert_same_run(whole, tmp_path / "again")


@pytest.mark.parametrize(
    ("corpus", "preset", "task"),
    [
        ("languages", "transformer-classifier", "classification"),
        ("prose", "rnn-language", "continuation"),
        ("copy", "transformer-language", "translation"),
        ("addition", "convolution", "translation"),
    ],
)
def test_every_task(tmp_path: Path, corpus: str, preset: str, task: str) -> None:
    data = {"corpus": corpus, "examples": 60}
    config = tiny(data=data, model={"preset": preset, "heads": 2, "depth": 1}, training={"steps": 3})
    result = go(tmp_path / "run", config)
    assert (result.task, result.step) == (task, 3)
    assert result.best is not None and result.plan.training.metric in result.best
    run = load_run(tmp_path / "run")
    assert run.task == task
    assert (run.source_codec is run.target_codec) == (preset.endswith("-language") or task == "translation")


@pytest.mark.parametrize("better", [True, False])
def test_the_result_reported_is_that_of_the_saved_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, better: bool
) -> None:
    """The fourth validation is of the average; it is made to win or to lose."""
    validations: list[dict[str, float]] = []
    real = make_validate

    def counted(setup: Setup) -> Validate:
        validate = real(setup)

        def changed() -> dict[str, float]:
            results = validate()
            if len(validations) == 3:
                results |= {"exact": 99.0 if better else -1.0}
            validations.append(results)
            return results

        return changed

    monkeypatch.setattr("regard.experiment.run.make_validate", counted)
    result = go(tmp_path / "run")
    assert len(validations) == 4 and result.best in validations[:3]
    assert result.model == ("average" if better else "best")
    assert result.dev == (validations[3] if better else result.best)
    words = (
        "model: the average of the last 2 validations, dev exact 99.0%"
        if better
        else "model: the best validation, dev exact "
    )
    assert any(line.startswith(words) for line in result.summary())
    facts = load_run(tmp_path / "run").facts["results"]
    assert (facts["model"], facts["dev"]) == (result.model, result.dev)
    model, best, last = (read_tensors(tmp_path / "run" / f"{n}.safetensors")[0] for n in ("model", "best", "last"))
    assert all(torch.equal(model[name], best[name]) for name in model) != better
    state = read_tensors(tmp_path / "run" / "training.safetensors")[0]
    assert all(torch.equal(last[name], state[f"last/{name}"]) for name in last)


def test_the_saved_model_has_the_loss_that_is_reported(whole: Path) -> None:
    run = load_run(whole)
    pairs, _ = encode_pairs(run.examples("dev"), run.source_codec, run.target_codec)
    forced = teacher_forced(run.model, [make_batch(pairs, range(len(pairs)))])
    assert forced.loss == pytest.approx(run.facts["results"]["dev"]["loss"], rel=1e-5)


def test_what_is_left_out_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{i}\t{i}" for i in range(60)] + ["much too long\tshort", "\tnothing"]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines) + "\n")
    data = {"corpus": None, "pairs": str(tmp_path / "pairs.tsv"), "max_tokens": 8, "dev_examples": 5}
    result = run_experiment(tiny(data={**data, "examples": None}, training={"steps": 2}), tmp_path / "run")
    err = capsys.readouterr().err
    assert sum(result.skipped.values()) == 2
    assert "1 its source has more than 8 tokens" in err and "left out: " in err
    assert "ended by training.steps after 2 steps" in err and "best on dev: " in err
    assert json.loads((tmp_path / "run" / "run.json").read_text())["skipped"] == result.skipped


@pytest.mark.parametrize(("rate", "diverges"), [(1e9, True), (1e-3, False)])
def test_a_training_that_went_astray_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rate: float, diverges: bool
) -> None:
    result = run_experiment(tiny(training={"steps": 6, "rate": rate, "warmup_steps": 1}), tmp_path / "run")
    assert result.best is not None and (result.best["loss"] > 10 * result.guessing) == diverges
    said = "training.rate = 1e+09 is too high" in capsys.readouterr().err
    assert said == diverges
    sure_and_wrong = replace(result, best={**result.best, "loss": 5 * result.guessing})
    assert not any("too high" in text for text in sure_and_wrong.summary())


# --- interrupted and resumed ---


@pytest.fixture
def terminal() -> Iterator[None]:
    """Tests that nohup started would ignore SIGHUP."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("step", [3, 5, 12])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_saves_and_resume_ends_with_the_same_weights(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, number: signal.Signals
) -> None:
    before = signal.getsignal(number)
    at_step(monkeypatch, step, lambda: signal.raise_signal(number))
    stopped = go(tmp_path / "run")
    assert signal.getsignal(number) == before
    assert (stopped.status, stopped.step) == ("interrupted", step)
    assert f"continue with `regard train --out {tmp_path / 'run'} --resume`" in stopped.summary()
    load_run(tmp_path / "run")  # usable as it is
    moved = shutil.move(tmp_path / "run", tmp_path / "elsewhere")
    result = go(moved, resume=True)
    assert (result.status, result.step) == ("finished", 14)
    assert_same_run(whole, moved)


@pytest.mark.parametrize("preset", ["lstm-dot", "transformer-language"])
def test_pieces_taken_apart_are_the_same_after_resuming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, preset: str
) -> None:
    def settings(share: float) -> Settings:
        tokenizer = {"kind": "bpe", "size": 300}
        return tiny(tokenizer=tokenizer, model={"preset": preset, "heads": 2}, training={"bpe_dropout": share})

    tokens = []
    for share in (0.0, 0.5):
        go(tmp_path / str(share), settings(share))
        tokens.append(sum(line["tokens"] for line in read_metrics(tmp_path / str(share) / "metrics.jsonl")))
    assert tokens[1] > tokens[0]
    at_step(monkeypatch, 7, lambda: signal.raise_signal(signal.SIGINT))
    assert go(tmp_path / "stopped", settings(0.5)).step == 7
    go(tmp_path / "stopped", resume=True)
    assert_same_run(tmp_path / "0.5", tmp_path / "stopped")


def test_a_run_that_crashed_before_its_first_step_starts_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go(tmp_path / "whole", tiny())

    def crash(*_: object) -> None:
        raise RuntimeError("the power fails before the first step")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr("regard.experiment.run.save_state", crash)
        go(tmp_path / "crashed", tiny())
    go(tmp_path / "crashed", resume=True)
    assert_same_run(tmp_path / "whole", tmp_path / "crashed")


@pytest.mark.parametrize("number", [1, 3])
def test_a_run_of_another_format_is_refused_with_one_line(whole: Path, tmp_path: Path, number: int) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "run"))
    facts = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps({**facts, "format": number}))
    for use in (lambda: go(out, resume=True), lambda: load_run(out)):
        with pytest.raises(UserError, match=rf"the run has format {number}, .* reads format 2; use the") as caught:
            use()
        assert "\n" not in str(caught.value)


def test_a_crash_loses_only_what_came_after_the_checkpoint(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash() -> None:
        raise RuntimeError("the power fails")

    for step, saved in ((3, 0), (8, 5)):
        at_step(monkeypatch, step, crash)
        with pytest.raises(RuntimeError):
            go(tmp_path / "run", resume=(tmp_path / "run").exists())
        kept = read_tensors(tmp_path / "run" / "training.safetensors")[1]["step"] if saved else 0
        assert kept == saved
    go(tmp_path / "run", resume=True)
    assert_same_run(whole, tmp_path / "run")


def test_what_was_begun_and_never_became_a_run_can_be_begun_again(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The power fails before each of the files that a run starts with."""
    writes = 0
    replace_file = Path.replace

    def failing(path: Path, target: Path) -> Path:
        nonlocal writes
        writes += 1
        if writes > survived:
            raise RuntimeError("the power fails")
        return replace_file(path, target)

    for survived in range(6):
        out, writes = tmp_path / str(survived), 0
        with monkeypatch.context() as patch, pytest.raises(RuntimeError):
            patch.setattr(Path, "replace", failing)
            go(out)
        assert not (out / "run.json").exists()
        go(out, None if survived % 2 else tiny(), resume=bool(survived % 2 and (out / "recipe.toml").exists()))
        assert_same_run(whole, out)


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_state_is_replaced_by_the_one_before(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    out = tmp_path / "run"
    at_step(monkeypatch, 12, lambda: signal.raise_signal(signal.SIGINT))
    go(out)
    newest = out / "training.safetensors"
    if damage == "cut":
        newest.write_bytes(newest.read_bytes()[:-100])
    else:
        newest.unlink()
    run_experiment(Settings(), out, resume=True)
    said = capsys.readouterr().err.splitlines()[0]
    assert said.endswith("; the run goes on from the state before it, of step 10"), said
    assert_same_run(whole, out)
    assert not (out / "training.previous.safetensors").exists()  # the run has ended


def diverge_at(monkeypatch: pytest.MonkeyPatch, step: int, times: int) -> None:
    """The loss of this step is not a number, so many times."""
    accumulate = Team.accumulate

    def accumulated(team: Team, position: Position) -> Accumulated | None:
        nonlocal times
        result = accumulate(team, position)
        if position.step != step or times == 0 or result is None:
            return result
        times -= 1
        return replace(result, loss=replace(result.loss, nll=torch.tensor(torch.nan)))

    monkeypatch.setattr(Team, "accumulate", accumulated)


def test_a_divergence_ends_the_run_before_it_harms(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(UserError) as caught:
        diverge_at(patch, 8, 1)
        go(tmp_path / "run")
    assert "step 8 (batch " in str(caught.value) and "the loss is nan" in str(caught.value)
    assert "training.on_divergence = 'halve'" in str(caught.value) and "\n" not in str(caught.value)
    go(tmp_path / "run", resume=True)
    assert_same_run(whole, tmp_path / "run")


def test_after_a_divergence_the_run_goes_back_and_halves_the_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tiny(training={"on_divergence": "halve"})
    with monkeypatch.context() as patch:
        diverge_at(patch, 8, 2)
        result = go(tmp_path / "run", settings)
    assert result.status == "finished"
    lines = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert [line["step"] for line in lines] == list(range(1, 15))
    planned = [line["rate"] for line in read_metrics(go(tmp_path / "plain").path / "metrics.jsonl")]
    halved = [line["rate"] / rate for line, rate in zip(lines, planned, strict=True)]
    assert halved == pytest.approx([1] * 5 + [0.25] * 9, rel=1e-4)
    # stopped and resumed after it, the run is the same
    with monkeypatch.context() as patch:
        diverge_at(patch, 8, 2)
        at_step(patch, 9, lambda: signal.raise_signal(signal.SIGINT))
        go(tmp_path / "stopped", settings)
    go(tmp_path / "stopped", resume=True)
    assert_same_run(tmp_path / "run", tmp_path / "stopped")


def test_a_run_that_always_diverges_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    diverge_at(monkeypatch, 3, -1)
    with pytest.raises(UserError, match=r"step 3 .* the loss is nan"):
        go(tmp_path / "run", tiny(training={"on_divergence": "halve"}))


def test_a_full_disk_stops_with_a_line_and_can_be_resumed(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        at_step(monkeypatch, 7, lambda: patch.setattr(os, "fsync", full))
        with pytest.raises(UserError, match=r"training\.safetensors: the disk is full"):
            go(tmp_path / "run")
    go(tmp_path / "run", resume=True)
    assert_same_run(whole, tmp_path / "run")


def test_a_finished_run_resumed_stays_as_it_is_and_can_be_extended(whole: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "run"))
    go(out, resume=True)
    assert_same_run(whole, out)
    result = go(out, settle({"training": {"steps": 16, "patience": 50}}), resume=True)
    assert (result.step, result.plan.training.steps) == (16, 16)
    assert [line["step"] for line in read_metrics(out / "metrics.jsonl")] == list(range(1, 17))
    assert load_run(out).plan.training.patience == 50


@pytest.mark.parametrize("lost", [("last", "best"), ("last", "best", "model")])
def test_a_run_that_lost_its_state_is_not_trained_over(whole: Path, tmp_path: Path, lost: tuple[str, ...]) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "run"))
    for name in ("training", *lost):
        (out / f"{name}.safetensors").unlink()
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(UserError) as caught:
        go(out, resume=True)
    missing = f"{out / 'training.safetensors'} is missing, and without it the run cannot go on; restore it, or train"
    assert str(caught.value) == f"{missing} again from {out / 'recipe.toml'}"
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_run_that_never_came_to_a_checkpoint_can_be_resumed_again_and_again(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    out = tmp_path / "run"
    for resume in (False, True):  # the metrics of step 1 are there, and its state is not
        with monkeypatch.context() as patch:
            patch.setattr("regard.experiment.follow.SAVE_SECONDS", 0)
            at_step(monkeypatch, 1, lambda patch=patch: patch.setattr(os, "fsync", full))
            with pytest.raises(UserError, match="the disk is full"):
                go(out, resume=resume)
    go(out, resume=True)
    assert_same_run(whole, out)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 10}, "training.steps = 10, but the run has reached 14 already; give more, or resume without it"),
        ({"epochs": 0.25, "steps": 99}, "training.epochs = 0.25, but the run has reached "),
        ({"minutes": 1e-9}, "training.minutes = 1e-09, but the run has reached "),
    ],
)
def test_a_limit_already_passed_is_refused(whole: Path, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "run"))
    before = (out / "recipe.toml").read_bytes()
    with pytest.raises(UserError) as caught:
        go(out, settle({"training": change}), resume=True)
    assert message in str(caught.value)
    assert (out / "recipe.toml").read_bytes() == before
    assert_same_run(whole, out)


def test_settings_are_written_only_when_the_state_came_back(whole: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "run"))
    before = (out / "recipe.toml").read_bytes()
    (out / "training.safetensors").write_bytes(b"damaged")
    with pytest.raises(UserError, match=r"training\.safetensors is damaged"):
        go(out, settle({"training": {"steps": 20}}), resume=True)
    assert (out / "recipe.toml").read_bytes() == before


def test_a_record_without_what_resuming_needs(whole: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "run"))
    (out / "run.json").write_text('{"format": 2, "task": "translation"}')
    with pytest.raises(UserError, match=r"run\.json is damaged: it has no 'fingerprint'"):
        go(out, resume=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"training": {"rate": 0.5}}, r"training\.rate = 0\.5, but the run began with 0\.002; resume without it"),
        ({"model": {"width": 32}}, r"model\.width = 32, but the run began with 16"),
        ({"data": {"seed": 9}}, r"data\.seed = 9, but the run began with 1"),
        ({"training": {"optimizer": "muon"}}, r"training\.optimizer = 'muon', but the run began with 'adam'"),
        ({"data": {"corpus": "sort"}}, "the training or development data changed"),
    ],
)
def test_a_changed_setting_is_refused_by_name(
    whole: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "run"))
    with pytest.raises(UserError, match=message):
        go(out, settle(change), resume=True)
    go(out, resume=True)
    assert_same_run(whole, out)


# --- what is refused ---


def test_no_place_to_train_or_to_resume(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds a run already; continue with `regard train"):
        go(whole)
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(UserError, match="not an empty directory; choose another --out"):
        go(tmp_path)
    with pytest.raises(UserError, match="not an empty directory"):
        go(tmp_path / "thesis.txt")
    with pytest.raises(UserError, match="holds no run to resume"):
        go(tmp_path, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": {"corpus": None, "examples": None}}, "no data: give data.corpus"),
        ({"data": {"corpus": "prose"}}, "model.encoder = 'rnn', but every source of the corpus is empty"),
        (
            {"data": {"corpus": "prose"}, "model": {"preset": "rnn-language"}, "training": {"metric": "bleu"}},
            "training.metric = 'bleu' compares outputs",
        ),
        (
            {"data": {"corpus": "languages"}, "model": {"preset": "lstm-classifier"}, "training": {"metric": "chrf"}},
            "training.metric = 'chrf' compares texts",
        ),
        ({"data": {"max_tokens": 1, "lengths": "3-5"}}, "no training pairs: all 120 are left out"),
        ({"training": {"warmup_steps": 50}}, "training.warmup_steps = 50 exceeds training.steps = 14"),
        (
            {"training": {"bpe_dropout": 0.1}},
            "training.bpe_dropout = 0.1 takes pieces of bpe apart, and this is translation",
        ),
        (
            {
                "data": {"corpus": "languages"},
                "model": {"preset": "lstm-classifier"},
                "tokenizer": {"kind": "bpe", "size": 300},
                "training": {"bpe_dropout": 0.1},
            },
            "takes pieces of bpe apart, and this is classification",
        ),
        (
            {"search": {"short_list": True}, "model": {"pointer": True}},
            "search.short_list leaves out what model.pointer could copy",
        ),
        ({"search": {"short_list": True}}, "search.short_list is for translations with a vocabulary of 1,000 entries"),
    ],
)
def test_what_makes_no_sense_leaves_nothing_behind(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        go(tmp_path / "run", tiny(**change))
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_plan_as_settings_resolves_to_itself(whole: Path) -> None:
    from regard.data.corpus import load_corpus

    recipe = settle(read_recipe(str(whole / "recipe.toml")))
    assert resolve(recipe, load_corpus(recipe.data)) == load_run(whole).plan
