"""Ranks 1 and up of data-parallel training: they follow rank 0 from one job to its end, and write nothing."""

from __future__ import annotations

import signal
import sys
from typing import Any

import torch.distributed as dist

from regard.errors import UserError
from regard.threads import STOP_SIGNALS, Interrupt, configure_torch
from regard.training.distributed import (
    GradientRow,
    ReplicaJob,
    broadcast_object,
    is_lost_connection,
    join_local,
    join_torchrun,
    share_result,
)
from regard.training.loop import Divergence, epochs, total_steps, update
from regard.training.microbatches import Microbatches, Position, accumulate, trained_parameters
from regard.training.schedule import learning_rate
from regard.training.state import new_state


def main() -> None:
    """The life of a rank that rank 0 started. Signals are for rank 0, which ends the others."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    try:
        join_local()
        train_replica(broadcast_object())
        dist.destroy_process_group()
    except (UserError, Divergence):  # rank 0 has found the same
        sys.exit(1)
    except RuntimeError as error:
        if not is_lost_connection(error):
            raise
        sys.exit(1)


def follow_torchrun() -> Any:
    """Follow rank 0 through a run, and return its result, which it broadcasts at the end."""
    join_torchrun()
    try:
        with Interrupt() as interrupt:
            train_replica(broadcast_object(), interrupt)
        return share_result()
    except Divergence as divergence:
        raise divergence.refusal() from None
    except RuntimeError as error:
        if not is_lost_connection(error):
            raise
        raise UserError("torchrun: the connection to rank 0 was lost; its message says why") from None


def train_replica(job: ReplicaJob, interrupt: Interrupt | None = None) -> None:
    """Compute this rank's microbatches and make every step of rank 0, until a rank stops."""
    configure_torch(job.threads)
    training, model = job.training, job.model.train()
    state = new_state(model, training)
    state.optimizer.restore(job.moments)
    row = GradientRow(trained_parameters(model))
    microbatches = Microbatches(job.pairs, training, dist.get_rank(), dist.get_world_size())
    smoothing, total = training.label_smoothing, total_steps(job.pairs, training)

    for position in job.trials:
        if row.all_reduce(accumulate(model, microbatches.at(position), smoothing, summed=True)) is None:
            return None
    step = job.position.step
    for epoch, index, _ in epochs(microbatches, job.position.epoch, job.position.index):
        if interrupt is not None and interrupt.asked:
            return row.stop()
        batches = microbatches.at(Position(epoch, index, step))
        accumulated = row.all_reduce(accumulate(model, batches, smoothing, summed=True))
        if accumulated is None:
            return None
        state.progress.step = step - 1
        update(state, accumulated, learning_rate(step, training, total) * job.rate_factor, training)
        step += 1
    return None
