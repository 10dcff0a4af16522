"""regard: as many processes as the model's field `processes` says, two threads in all."""

from __future__ import annotations

import regard  # noqa: F401 - before torch: it sets how long waiting threads spin

# isort: split
import sys
from itertools import chain, cycle
from typing import Any

import numpy as np
from _driver import Batch, Step, serve

from regard.config import TrainingPlan, plan_model, settle
from regard.data import Pairs, make_batch
from regard.data.token_store import TokenStore
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.threads import configure_torch
from regard.training.distributed import Crew
from regard.training.loop import update
from regard.training.microbatches import Part, part_plan
from regard.training.state import new_state


def make(fields: dict[str, Any]) -> Step:
    processes, size = fields.pop("processes"), fields.pop("size")
    configure_torch(2)
    training = TrainingPlan(
        rate=1e-3, warmup_steps=1, batch_tokens=fields.pop("batch_tokens"), label_smoothing=0.1, processes=processes
    )
    state = new_state(
        fuse(build_model(plan_model(settle({"model": fields}).model), size, size, True, seed=1)), training
    )
    stored = np.load(sys.argv[1])
    source, target = (
        TokenStore(stored[f"{side}/ids"], stored[f"{side}/starts"]) for side in ("all_source", "all_target")
    )
    pairs = Pairs(source, target, np.arange(len(source.starts) - 1))
    crew = Crew(state.model, pairs, training).__enter__() if processes > 1 else None  # it ends with this process
    parts = part_plan(pairs, training, 0)
    count = sum(name.endswith("/target_in") for name in stored.files)
    turn = chain([0], cycle(range(1, count)))  # as the others: the first to warm up, then the rest again and again

    def step(_: Batch) -> int:
        index = next(turn)
        if crew is not None:
            crew.begin(Part(0, index, index + 1))
        return update(state, make_batch(pairs, parts[index]), 1e-4, training, crew)[2]

    return step


if __name__ == "__main__":
    serve(make)
