"""Who computes an update, and when that is decided anew."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from training_material import PAIRS, fresh

from regard.config import TrainingPlan
from regard.errors import UserError
from regard.training import estimate
from regard.training.estimate import choose_team
from regard.training.team import StepWatch, Team, TeamSize, team_sizes
from regard.weights import clone_weights, weights_of


def settings(**changes: Any) -> TrainingPlan:
    return TrainingPlan(batch_tokens=200, rate=1e-3, warmup_steps=1, **changes)


@pytest.mark.parametrize(
    ("threads", "changes", "expected"),
    [
        (4, {}, [(1, 4), (1, 1)]),
        (1, {}, [(1, 1)]),
        (4, {"threads": 3}, [(1, 3)]),
        (4, {"microbatches": 2}, [(1, 2), (2, 2)]),
        (2, {"microbatches": 4}, [(1, 1), (2, 1)]),
        (1, {"microbatches": 2}, [(1, 1)]),
        (1, {"microbatches": 2, "processes": 2}, [(2, 1)]),
        (4, {"microbatches": 2, "processes": 1}, [(1, 2)]),
        (4, {"microbatches": 2, "threads": 1}, [(1, 1), (2, 1)]),
    ],
)
def test_which_teams_may_compute_a_run(
    threads: int, changes: dict[str, int], expected: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert team_sizes(settings(**changes)) == [TeamSize(*size) for size in expected]


def test_torchrun_decides_the_team(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "localhost"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    assert team_sizes(settings(microbatches=2)) == [TeamSize(2, 2)]
    with pytest.raises(UserError, match=r"training.microbatches = 1, but torchrun has started 2 processes"):
        team_sizes(settings())


@pytest.mark.parametrize(("faster", "processes"), [(2, 2), (1, 1)])
def test_the_faster_team_is_chosen_and_nothing_is_left_behind(
    faster: int, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The times are made up; the trials are real."""
    timed: list[int] = []
    real = estimate._time

    def time(team: Team, trials: list[Any]) -> float:
        real(team, trials)
        timed.append(team.size.processes)
        return 1.0 if team.size.processes == faster else 2.0

    monkeypatch.setattr(estimate, "_time", time)
    monkeypatch.setattr("regard.training.estimate.team_sizes", lambda _: [TeamSize(1, 1), TeamSize(2, 1)])
    training = settings(microbatches=2)
    state = fresh(training)
    before = clone_weights(weights_of(state.model))
    team, found = choose_team(state, PAIRS, training, 1000)
    with team:
        assert timed == [1, 2] and team.size.processes == processes
        assert found is not None and 1 <= found.step_seconds < 1.5 and f"{processes} process" in found.text(None)
        assert all(torch.equal(before[name], tensor) for name, tensor in weights_of(state.model).items())
        assert all(parameter.grad is None for parameter in state.model.parameters()) and not state.optimizer.moments()


@pytest.mark.parametrize(("seconds", "threads"), [(1.9, 1), (1.1, 2)])
def test_fewer_threads_must_be_clearly_faster(seconds: float, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They change the last bits."""
    monkeypatch.setattr(estimate, "_time", lambda team, _: seconds if team.size.threads == 2 else 1.0)
    monkeypatch.setattr("regard.training.estimate.team_sizes", lambda _: [TeamSize(1, 2), TeamSize(1, 1)])
    state = fresh(settings())
    with choose_team(state, PAIRS, settings(), 1000)[0] as team:
        assert team.size.threads == threads


def test_a_run_that_is_over_soon_starts_no_process() -> None:
    state = fresh(settings(microbatches=2))
    team, found = choose_team(state, PAIRS, settings(microbatches=2), 50)
    assert team.size.processes == 1 and found is None


def test_steps_that_take_three_times_as_long_are_noticed() -> None:
    watch = StepWatch()
    assert all(watch.add(1.0 + 0.5 * (step % 3 == 0)) is None for step in range(200)), "lengths of batches differ"
    assert all(watch.add(9.0) is None for _ in range(4)), "a few slow steps are no reason"
    assert all(watch.add(1.0) is None for _ in range(50))
    slower = [watch.add(4.0) for _ in range(30)]
    assert slower[0] is None and slower[-1] == pytest.approx(4.0)
    assert all(watch.add(1000.0) is None for watch in [StepWatch()] for _ in range(25)), "nothing to compare with"
