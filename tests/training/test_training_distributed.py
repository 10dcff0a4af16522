"""Processes that share an update make the step that one process would make; and what happens when one is lost."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from training_material import PAIRS, TOKENIZER, fresh

from regard.config import TrainingPlan
from regard.data.batches import make_batch
from regard.data.bpe_dropout import BpeDropout
from regard.errors import UserError
from regard.training import distributed as crews
from regard.training.distributed import Crew, others
from regard.training.loop import train, update
from regard.training.microbatches import Others, Part, Turns, backward, part_plan
from regard.training.state import restore
from regard.weights import read_tensors, weights_of, write_tensors

HALVES = np.full((300, 2), -1, np.int32)
HALVES[TOKENIZER.encode("7")] = TOKENIZER.encode("12")  # as if it had been merged
SPLIT = BpeDropout(HALVES, 0.3, 50)
UNMERGED = replace(
    PAIRS, source=replace(PAIRS.source, bpe_dropout=SPLIT), target=replace(PAIRS.target, bpe_dropout=SPLIT)
)
PLAIN = {"dropout": 0.0, "attention_dropout": 0.0}


def settings(**changes: Any) -> TrainingPlan:
    chosen = {"steps": 6, "batch_tokens": 200, "rate": 3e-3, "warmup_steps": 2, "label_smoothing": 0.1}
    chosen |= {"evaluate_every": 100, "metric": "loss", "seed": 5, "processes": 2}
    return TrainingPlan(**{**chosen, **changes})


def test_parts_are_the_epoch_and_of_like_length() -> None:
    training = settings()
    parts = [part_plan(PAIRS, training, 0, rank) for rank in range(2)]
    assert len(parts[0]) == len(parts[1]) > 2
    assert sorted(np.concatenate(parts[0] + parts[1]).tolist()) == list(range(len(PAIRS)))
    for one, other in zip(*parts, strict=True):
        assert sum(make_batch(PAIRS, rows).source.numel() for rows in (one, other)) <= 200


@pytest.mark.parametrize("kind", [Crew, Turns])
def test_two_parts_make_the_step_of_one(kind: type[Others]) -> None:
    """Without dropout: the gradient of the mean over both parts' tokens, though their token counts differ."""
    training = settings()
    together, alone = fresh(training, **PLAIN), fresh(training, **PLAIN)
    with kind(together.model, PAIRS, training) as crew:
        for index, step in ((0, 1), (2, 2)):
            rows = [part_plan(PAIRS, training, 0, rank)[index] for rank in range(2)]
            crew.begin(Part(0, index, step))
            batch = make_batch(PAIRS, rows[0])
            loss, norm, tokens = update(together, batch, 1e-3, training, crew)
            whole = make_batch(PAIRS, np.concatenate(rows))
            expected, expected_norm, expected_tokens = update(alone, whole, 1e-3, training)
            assert tokens == expected_tokens and 2 * batch.token_count != tokens
            assert math.isclose(float(loss.nll), float(expected.nll), rel_tol=1e-5)
            assert math.isclose(loss.smoothed.item(), expected.smoothed.item(), rel_tol=1e-5)
            assert math.isclose(norm, expected_norm, rel_tol=1e-4)
            for one, other in zip(together.model.parameters(), alone.model.parameters(), strict=True):
                torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-6)


def trained_by(kind: type[Others], training: TrainingPlan, stops: list[int], folder: Path) -> dict[str, torch.Tensor]:
    """The weights after six steps, with a new process and a new state after each stop."""
    state = fresh(training)
    for until in [*stops, 6]:
        with kind(state.model, UNMERGED, training) as crew:
            for report in train(state, UNMERGED, training, lambda: {"loss": 1.0}, crew):
                if report.step == until:
                    break
        write_tensors(folder / "state", state.tensors(), asdict(state.progress))
        state = fresh(training)
        restore(state, *read_tensors(folder / "state"), where="state")
    assert state.progress.step == 6
    return weights_of(state.model)


def test_resumed_or_in_turns_the_weights_are_the_same_to_the_bit(tmp_path: Path) -> None:
    """Three ranks, each with dropout and BPE dropout of its own: in processes, stopped and resumed, and all in
    one process."""
    training = settings(processes=3, optimizer="muon", bpe_dropout=0.3)
    whole = trained_by(Crew, training, [], tmp_path)
    for other in (trained_by(Crew, training, [2, 3], tmp_path), trained_by(Turns, training, [], tmp_path)):
        assert all(torch.equal(whole[name], other[name]) for name in whole)
    two = trained_by(Turns, settings(processes=2, optimizer="muon", bpe_dropout=0.3), [], tmp_path)
    assert not all(torch.equal(whole[name], two[name]) for name in whole)


def test_a_process_that_is_lost_is_one_clear_line() -> None:
    training = settings()
    state = fresh(training, **PLAIN)
    with Crew(state.model, PAIRS, training) as crew:
        crew.begin(Part(0, 10**9, 1))  # no such batch: it fails, as it would without memory
        batch = make_batch(PAIRS, part_plan(PAIRS, training, 0)[0])
        with pytest.raises(UserError, match=r"ended unasked \(exit code 1\).*--resume"):
            crew.join(backward(state.model, batch, 0.0, summed=True), batch.token_count, state.optimizer.hands)


def test_a_process_that_dies_at_once_does_not_hang_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it is to be sent more than a pipe holds."""
    monkeypatch.setattr(crews, "_help", sys.exit)  # by its name another function: the new process fails to be told
    training = settings()
    model = fresh(training, **PLAIN).model
    model.ballast = torch.nn.Parameter(torch.zeros(300_000))  # pyrefly: ignore[missing-attribute]
    with pytest.raises(UserError, match="ended unasked"), Crew(model, PAIRS, training) as crew:
        crew.begin(Part(0, 0, 1))
        crew.results()
    assert not multiprocessing.active_children()


def test_little_shared_memory_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = [torch.zeros(1000)]
    usage = type("Usage", (), {"free": 9000})
    monkeypatch.setattr(crews.shutil, "disk_usage", lambda _: usage)
    assert crews._roomy(parameters, 2) == crews.SHARED_MEMORY and crews._roomy(parameters, 3) is None


def test_who_computes_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fresh(settings(), **PLAIN).model
    assert others(model, PAIRS, settings(processes=1)) is None
    assert type(others(model, PAIRS, settings())) is Turns, "one thread: configure_torch(1) is what one core is"
    assert type(others(model, PAIRS, settings(threads=1))) is Crew
    monkeypatch.setattr(multiprocessing.current_process(), "_config", {"daemon": True})
    assert type(others(model, PAIRS, settings(threads=1))) is Turns


SCRIPT = """
import regard
settings = {"data": {"corpus": "reverse", "lengths": "1-9"}, "model": {"preset": "PRESET", "width": 16}}
settings["training"] = {"steps": STEPS, "processes": 2, "threads": 1, "evaluate_every": 1000000}
print("once", flush=True)
print(regard.train(settings, "run", progress=False).status)
"""


def script(folder: Path, preset: str, steps: int) -> subprocess.Popen[str]:
    (folder / "script.py").write_text(SCRIPT.replace("PRESET", preset).replace("STEPS", str(steps)))
    command = [sys.executable, "script.py"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


@pytest.mark.parametrize("preset", ["lstm-additive", "transformer-language"])
def test_a_script_without_a_guard_is_run_once(preset: str, tmp_path: Path) -> None:
    out, err = script(tmp_path, preset, 3).communicate(timeout=120)
    assert out.split() == ["once", "finished"] and "Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_all_processes_saves_and_stops(number: signal.Signals, tmp_path: Path) -> None:
    running = script(tmp_path, "transformer", 10**6)
    state = tmp_path / "run" / "training.safetensors"
    for _ in range(600):
        if state.exists():
            break
        time.sleep(0.1)
    time.sleep(4)  # into the training, or into the start of its processes: both must end well
    os.killpg(running.pid, number)
    out, err = running.communicate(timeout=60)
    assert out.split() == ["once", "interrupted"] and "Traceback" not in err
