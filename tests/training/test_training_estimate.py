"""An estimate is taken from the run's own batches and leaves nothing behind."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from training_material import PAIRS, fresh

from regard.config import TrainingPlan
from regard.training.estimate import Estimate, choose_team
from regard.training.state import TrainingState
from regard.weights import clone_weights, weights_of

TRAINING = TrainingPlan(batch_tokens=100, rate=1e-3, warmup_steps=1, average=5)


def estimate(state: TrainingState, training: TrainingPlan, steps: int) -> Estimate | None:
    team, found = choose_team(state, PAIRS, training, steps)
    team.close()
    return found


@pytest.mark.parametrize("preset", ["transformer", "lstm-additive"])
@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_nothing_is_left_behind(preset: str, optimizer: Literal["adam", "muon"]) -> None:
    training = TRAINING.model_copy(update={"optimizer": optimizer})
    state = fresh(training, preset)
    model = state.model
    before = clone_weights(weights_of(model))
    found = estimate(state, training, 1000)
    assert found is not None and found.steps == 1000 and found.step_seconds > 0
    more = estimate(state, training.model_copy(update={"average": 9}), 1000)
    weights = sum(one.numel() * one.element_size() for one in model.parameters())
    assert more is not None and found.memory is not None and more.memory is not None, "Linux tells"
    assert more.memory - found.memory >= 4 * weights, "four more copies to average"
    assert all(torch.equal(before[name], tensor) for name, tensor in weights_of(model).items())
    assert not state.optimizer.moments() and all(one.grad is None for one in model.parameters())
    assert estimate(state, training, 10) is None
    state.progress.step = 800
    going_on = estimate(state, training, 1000)
    assert going_on is not None and (going_on.steps, going_on.done, found.done) == (200, 800, 0)
    state.progress.step = 950
    assert estimate(state, training, 1000) is None, "hardly anything is left of it"


def test_what_it_says() -> None:
    whole = Estimate(3000, 0.5, 2**30, 400)
    assert whole.text(None) == (
        "estimate: 3,000 steps (7.5 epochs) in about 25:00, 0.5 s a step, without validation; 1.0 GiB of memory"
    )
    assert "about 1,200 steps (3.0 epochs) in 10:00" in whole.text(10)
    assert "about 1,200 steps (1.2 epochs) in 10:00" in Estimate(None, 0.5, None, 1000).text(10)
    assert Estimate(None, 0.5, None, 9, 0, "2 processes").text(None).endswith("without validation; 2 processes")
    assert Estimate(None, 0.5, None, 1000).text(None) == "estimate: 0.5 s a step, without validation"
    assert "3,000 steps (0.6 epochs: not every pair is read) in about" in Estimate(3000, 0.5, None, 5000).text(None)
    assert "3,000 steps (0.6 epochs) in about" in Estimate(3000, 0.5, None, 5000, done=2000).text(None), "all was read"
