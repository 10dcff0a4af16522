"""Data-parallel training gives the weights of gradient accumulation in one process; and what happens to a lost rank."""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from training_material import PAIRS, TOKENIZER, fresh, team

from regard.config import TrainingPlan
from regard.data.batches import make_batch
from regard.data.bpe_dropout import BpeDropout
from regard.errors import UserError
from regard.training.loop import train, update
from regard.training.microbatches import Position, accumulate, microbatch_plan
from regard.training.state import restore
from regard.weights import read_tensors, weights_of, write_tensors

HALVES = np.full((300, 2), -1, np.int32)
HALVES[TOKENIZER.encode("7")] = TOKENIZER.encode("12")  # as if it had been merged
SPLIT = BpeDropout(HALVES, 0.3, 50)
DROPPED = replace(
    PAIRS, source=replace(PAIRS.source, bpe_dropout=SPLIT), target=replace(PAIRS.target, bpe_dropout=SPLIT)
)
PLAIN = {"dropout": 0.0, "attention_dropout": 0.0}


def settings(**changes: Any) -> TrainingPlan:
    chosen = {"steps": 6, "batch_tokens": 200, "rate": 3e-3, "warmup_steps": 2, "label_smoothing": 0.1}
    chosen |= {"evaluate_every": 100, "metric": "loss", "seed": 5, "microbatches": 2}
    return TrainingPlan(**{**chosen, **changes})


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files. No file, no process and no process group remains."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = shared_memory()
    yield folder
    assert not dist.is_initialized() and not replicas(os.getpid())
    assert list(folder.glob("regard-*")) == [] and shared_memory() <= before


def shared_memory() -> set[str]:
    return {name for name in (path.name for path in Path("/dev/shm").iterdir()) if name.startswith(("torch", "gloo"))}


def replicas(parent: int) -> list[int]:
    """The other ranks that a process has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            child_of = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if child_of == parent and b"regard.training.replica" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it has ended meanwhile
            continue
    return found


def is_alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("processes", [1, 2])
def test_two_microbatches_make_the_step_of_one_batch(processes: int) -> None:
    """Without dropout: the gradient of the mean over both microbatches' tokens, though their counts differ."""
    training = settings(processes=processes)
    parallel, single = fresh(training, **PLAIN), fresh(training, **PLAIN)
    with team(parallel, PAIRS, training) as ranks:
        for index, step in ((0, 1), (1, 2)):
            rows = [microbatch_plan(PAIRS, training, 0, microbatch)[index] for microbatch in range(2)]
            counts = [make_batch(PAIRS, part).token_count for part in rows]
            accumulated = ranks.accumulate(Position(0, index, step))
            assert accumulated is not None and counts[0] != counts[1]
            expected = accumulate(single.model, [make_batch(PAIRS, np.concatenate(rows))], 0.1)
            assert accumulated.tokens == accumulated.divisor == expected.tokens == sum(counts)
            assert math.isclose(float(accumulated.loss.nll), float(expected.loss.nll), rel_tol=1e-5)
            assert math.isclose(accumulated.loss.smoothed.item(), expected.loss.smoothed.item(), rel_tol=1e-5)
            rate = 3e-3 * step / 2
            norm, expected_norm = (
                update(parallel, accumulated, rate, training),
                update(single, expected, rate, training),
            )
            assert math.isclose(norm, expected_norm, rel_tol=1e-4)
            for ours, theirs in zip(parallel.model.parameters(), single.model.parameters(), strict=True):
                torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-6)


def trained_by(
    processes: list[int], training: TrainingPlan, folder: Path, preset: str = "transformer"
) -> dict[str, torch.Tensor]:
    """The weights after six steps, computed by so many processes in turn, each time resumed from a file."""
    state = fresh(training, preset)
    for turn, count in enumerate(processes, 1):
        chosen = training.model_copy(update={"processes": count})
        with team(state, DROPPED, chosen) as ranks:
            for report in train(state, DROPPED, chosen, lambda: {"loss": 1.0}, ranks):
                if report.step == 6 * turn // len(processes):
                    break
        write_tensors(folder / "state", state.tensors(), asdict(state.progress))
        state = fresh(training, preset)
        restore(state, *read_tensors(folder / "state"), where="state")
    assert state.progress.step == 6
    return weights_of(state.model)


@pytest.mark.parametrize("preset", ["transformer", "lstm-additive"])
def test_two_ranks_give_the_weights_of_one_process_to_the_bit(preset: str, tmp_path: Path) -> None:
    """Each with dropout and BPE dropout of its own; resumed by one from two, and the reverse."""
    training = settings(optimizer="muon", bpe_dropout=0.3, weight_decay=0.1)
    one = trained_by([1], training, tmp_path, preset)
    for processes in ([2, 1], [1, 2]):
        other = trained_by(processes, training, tmp_path, preset)
        assert all(torch.equal(one[name], other[name]) for name in one), processes


def test_three_ranks_give_the_weights_of_one_process_and_two_microbatches_others(tmp_path: Path) -> None:
    training = settings(microbatches=3, bpe_dropout=0.3)
    one, three, shared = (trained_by(count, training, tmp_path) for count in ([1], [3], [2]))
    for name in one:
        torch.testing.assert_close(one[name], three[name], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(one[name], shared[name], rtol=1e-5, atol=1e-5)
    two = trained_by([1], settings(bpe_dropout=0.3), tmp_path)
    assert not all(torch.allclose(one[name], two[name], atol=1e-4) for name in one)


def test_a_rank_that_is_killed_is_one_clear_line() -> None:
    training = settings(processes=2)
    state = fresh(training, **PLAIN)
    with (
        pytest.raises(UserError, match=r"rank 1 ended \(exit code -9\).*--resume"),
        team(state, PAIRS, training) as ranks,
    ):
        assert ranks.accumulate(Position(0, 0, 1)) is not None
        (replica,) = replicas(os.getpid())
        os.kill(replica, signal.SIGKILL)
        ranks.accumulate(Position(0, 1, 2))
        ranks.accumulate(Position(0, 2, 3))


def test_a_rank_that_cannot_start_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.training.distributed.REPLICA", "raise SystemExit(3)")
    training = settings(processes=2)
    with pytest.raises(UserError, match=r"rank 1 ended \(exit code 3\)"):
        team(fresh(training, **PLAIN), PAIRS, training)


def test_an_error_of_rank_0_ends_the_others() -> None:
    training = settings(processes=2)
    with pytest.raises(ZeroDivisionError), team(fresh(training, **PLAIN), PAIRS, training) as ranks:
        ranks.accumulate(Position(0, 0, 1))
        raise ZeroDivisionError


SCRIPT = """
import regard
settings = {"data": {"corpus": "reverse", "lengths": "1-9"}, "model": {"preset": "PRESET", "width": 16}}
settings["training"] = {"steps": STEPS, "processes": 2, "threads": 1, "evaluate_every": 1000000}
print("once", flush=True)
print(regard.train(settings, "run", progress=False).status)
"""


def script(folder: Path, preset: str, steps: int) -> subprocess.Popen[str]:
    (folder / "script.py").write_text(SCRIPT.replace("PRESET", preset).replace("STEPS", str(steps)))
    for name in ("torch", "numpy"):  # the other rank must import nothing from the current directory
        (folder / "elsewhere").mkdir(exist_ok=True)
        (folder / "elsewhere" / f"{name}.py").write_text("raise SystemExit('imported from the current directory')")
    command = [sys.executable, "../script.py"]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder / "elsewhere", stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


@pytest.mark.parametrize("preset", ["lstm-additive", "transformer-language"])
def test_a_script_without_a_guard_is_run_once(preset: str, tmp_path: Path) -> None:
    out, err = script(tmp_path, preset, 3).communicate(timeout=120)
    assert out.split() == ["once", "finished"] and err == ""


@contextmanager
def training_script(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """One that has made its first steps with another rank."""
    running = script(folder, "transformer", 10**6)
    end = time.monotonic() + 60
    while not replicas(running.pid) and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(6)  # into the training, or into the start of its processes: both must end well
    yield running
    assert running.poll() is not None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_all_processes_saves_and_stops(number: signal.Signals, tmp_path: Path) -> None:
    with training_script(tmp_path) as running:
        children = replicas(running.pid)
        for pid in (*children, running.pid):
            os.kill(pid, number)
        out, err = running.communicate(timeout=60)
    assert out.split() == ["once", "interrupted"] and err == ""
    assert len(children) == 1 and not is_alive(children[0])


def test_the_other_rank_ends_with_a_killed_rank_0(tmp_path: Path, temporary: Path) -> None:
    with training_script(tmp_path) as running:
        (replica,) = replicas(running.pid)
        running.kill()
        running.communicate(timeout=60)
        for _ in range(600):
            if not is_alive(replica):
                break
            time.sleep(0.1)
    assert not is_alive(replica)
    for folder in temporary.glob("regard-*"):  # a killed process cannot remove it
        shutil.rmtree(folder)


def test_torchrun_trains_as_one_process(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        '[data]\ncorpus = "reverse"\nlengths = "1-9"\n[model]\npreset = "transformer"\nwidth = 16\n'
        "[training]\nsteps = 4\nthreads = 1\nevaluate_every = 2\nmicrobatches = 2\n"
    )
    torchrun = ["torch.distributed.run", "--standalone", "--nnodes", "1", "--nproc-per-node", "2", "-m", "regard"]
    errors = []
    for launcher, out in ((torchrun, "ranks"), (["regard"], "single")):
        command = [sys.executable, "-m", *launcher, "train", str(recipe), "--out", str(tmp_path / out)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        errors.append(done.stderr)
    ranks, single = (read_tensors(tmp_path / out / "model.safetensors")[0] for out in ("ranks", "single"))
    assert all(torch.equal(ranks[name], single[name]) for name in single)
    assert errors[0].count("ended by training.steps") == 1, "only rank 0 prints"
    many = [*command[:1], "-m", *torchrun[:5], "3", *torchrun[6:], "train", str(recipe), "--out", str(tmp_path / "x")]
    failed = subprocess.run(many, capture_output=True, text=True, timeout=120, check=False)
    assert failed.returncode != 0 and "training.microbatches = 2, but torchrun has started 3" in failed.stderr
