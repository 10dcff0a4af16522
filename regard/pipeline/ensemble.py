"""Ensembles of runs: what the members must have in common."""

from __future__ import annotations

from collections.abc import Sequence

from regard.checkpoint import Run
from regard.errors import UserError
from regard.inference.ensemble import Ensemble


def ensemble_of(runs: Sequence[Run]) -> Ensemble:
    """The mean of the runs' probabilities, as one model."""
    for number, run in enumerate(runs):
        if run.task != "translation":
            raise UserError(f"{run.path} does {run.task}; only translators form an ensemble")
        if run.path.resolve() in [other.path.resolve() for other in runs[:number]]:
            raise UserError(f"{run.path} is in the ensemble already; name each run once")
        _check_same_data(run, runs[0])
    return Ensemble([run.model for run in runs])


def _check_same_data(run: Run, first: Run) -> None:
    """Only probabilities of the same tokens can be averaged."""
    for side in ("source", "target"):
        own, other = (getattr(member, f"{side}_codec") for member in (run, first))
        if not own.same_as(other):
            raise UserError(
                f"{run.path} and {first.path} split {side} text into different tokens; train both on the same data "
                "with the same --tokenizer settings"
            )
    if run.facts.get("fingerprint") != first.facts.get("fingerprint"):
        raise UserError(f"{run.path} was trained on other pairs than {first.path}; train both on the same data")
