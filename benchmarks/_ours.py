"""regard: as many processes as the model's field `processes` says, two threads in all."""

from __future__ import annotations

import regard  # noqa: F401 - before torch: it sets how long waiting threads spin

# isort: split
import atexit
import sys
from typing import Any

import numpy as np
from _driver import Batch, Step, serve

from regard.config import TrainingPlan, plan_model, settle
from regard.data import Pairs
from regard.data.token_store import TokenStore
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.threads import configure_torch
from regard.training.loop import epochs, update
from regard.training.microbatches import Position
from regard.training.state import new_state
from regard.training.team import Team, TeamSize


def make(fields: dict[str, Any]) -> Step:
    processes, size = fields.pop("processes"), fields.pop("size")
    configure_torch(2)
    training = TrainingPlan(
        rate=1e-3, warmup_steps=1, batch_tokens=fields.pop("batch_tokens"), label_smoothing=0.1, microbatches=processes
    )
    state = new_state(
        fuse(build_model(plan_model(settle({"model": fields}).model), size, size, True, seed=1)), training
    )
    stored = np.load(sys.argv[1])
    source, target = (
        TokenStore(stored[f"{side}/ids"], stored[f"{side}/starts"]) for side in ("all_source", "all_target")
    )
    pairs = Pairs(source, target, np.arange(len(source.starts) - 1))
    team = Team(TeamSize(processes, 2 // processes), state, pairs, training)
    atexit.register(team.close)
    positions = epochs(team.microbatches, 0, 0)  # batches of an epoch, as long as those of the others on average

    def step(_: Batch) -> int:
        epoch, index, _ = next(positions)
        state.progress.step += 1
        accumulated = team.accumulate(Position(epoch, index, state.progress.step))
        assert accumulated is not None
        update(state, accumulated, 1e-4, training)
        return accumulated.tokens

    return step


if __name__ == "__main__":
    serve(make)
