"""Processes that share an update make the step that one process would make; and what happens when one is lost."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.checkpoint import read_tensors, weights_of, write_tensors
from regard.config import TrainingConfig, settle
from regard.data.batches import Pairs, encode_pairs, make_batch
from regard.data.corpus import Example
from regard.data.tokenizer import Tokenizer
from regard.errors import UserError
from regard.models.build import build_model
from regard.runtime import prepare
from regard.training import crew as crews
from regard.training.crew import Crew, Part, backward, part_plan
from regard.training.loop import train, update
from regard.training.state import State, new_state, restore

EXAMPLES = [Example(text, text[::-1]) for text in (f"{i * 7919 % 1000}" * (1 + i % 3) for i in range(60))]
TOKENIZER = Tokenizer.train([e.source for e in EXAMPLES], "character", 300)
PAIRS: Pairs = encode_pairs(EXAMPLES, TOKENIZER, TOKENIZER, 50)[0]


def settings(**changes: Any) -> TrainingConfig:
    chosen = {"steps": 6, "batch_tokens": 200, "rate": 3e-3, "warmup_steps": 2, "label_smoothing": 0.1}
    chosen |= {"evaluate_every": 100, "metric": "loss", "seed": 5, "processes": 2}
    return TrainingConfig(**{**chosen, **changes})


def fresh(training: TrainingConfig, dropout: float) -> State:
    prepare(1)
    small = {"preset": "transformer", "width": 16, "heads": 2, "depth": 1, "dropout": dropout}
    model = build_model(settle({"model": small}).model, TOKENIZER.size, TOKENIZER.size, True, training.seed)
    return new_state(model, training)


def test_parts_are_the_epoch_and_of_like_length() -> None:
    training = settings()
    parts = [part_plan(PAIRS, training, 0, rank) for rank in range(2)]
    assert len(parts[0]) == len(parts[1]) > 2
    assert sorted(np.concatenate(parts[0] + parts[1]).tolist()) == list(range(len(PAIRS)))
    for one, other in zip(*parts, strict=True):
        assert sum(make_batch(PAIRS, rows).source.numel() for rows in (one, other)) <= 200


def test_two_processes_make_the_step_of_one() -> None:
    """Without dropout: the gradient of the mean over both parts' tokens, though their token counts differ."""
    training = settings()
    together, alone = fresh(training, 0.0), fresh(training, 0.0)
    with Crew(together.model, PAIRS, training) as crew:
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


def test_resumed_equals_never_interrupted_with_two_processes(tmp_path: Path) -> None:
    """And so the same seed gives the same weights, with dropout that differs from process to process."""
    training, kept = settings(), {}
    for stop in (None, 2):
        state = fresh(training, 0.3)
        for until in [6] if stop is None else [stop, 6]:
            with Crew(state.model, PAIRS, training) as crew:
                for report in train(state, PAIRS, training, lambda: {"loss": 1.0}, crew):
                    if report.step == until:
                        break
            write_tensors(tmp_path / "state", state.tensors(), asdict(state.progress))
            state = fresh(training, 0.3)
            restore(state, *read_tensors(tmp_path / "state"), where="state")
        kept[stop] = weights_of(state.model)
        assert state.progress.step == 6
    assert all(torch.equal(kept[None][name], kept[2][name]) for name in kept[2])


def test_a_process_that_is_lost_is_one_clear_line() -> None:
    training = settings()
    state = fresh(training, 0.0)
    with Crew(state.model, PAIRS, training) as crew:
        crew.begin(Part(0, 10**9, 1))  # no such batch: it fails, as it would without memory
        batch = make_batch(PAIRS, part_plan(PAIRS, training, 0)[0])
        with pytest.raises(UserError, match=r"ended unasked \(exit code 1\).*--resume"):
            crew.join(backward(state.model, batch, 0.0, summed=True), batch.token_count)


def test_too_little_shared_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    training = settings()
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(crews.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(UserError, match=r"--training\.processes 1"), Crew(fresh(training, 0.0).model, PAIRS, training):
        pass
