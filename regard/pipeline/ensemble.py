"""Runs that write together: what they must have in common, and the one model that they are to a search."""

from __future__ import annotations

from collections.abc import Sequence

from regard.checkpoint import Run
from regard.errors import UserError
from regard.models.ensemble import Ensemble


def ensemble_of(runs: Sequence[Run]) -> Ensemble:
    """The ensemble of several runs, of which the first says how to search."""
    for number, run in enumerate(runs):
        if run.task != "translation":
            raise UserError(f"{run.path} does {run.task}; only translators write together")
        if run.path.resolve() in [other.path.resolve() for other in runs[:number]]:
            raise UserError(f"{run.path} is in the ensemble already; name each run once")
        _check_alike(run, runs[0])
    return Ensemble([run.model for run in runs])


def _check_alike(run: Run, first: Run) -> None:
    """Probabilities of different tokens, or of another task, have no mean."""
    for side in ("source", "target"):
        own, other = (getattr(member, f"{side}_codec") for member in (run, first))
        if not own.same_as(other):
            raise UserError(
                f"{run.path} and {first.path} part their {side} text in different tokens; train both on the same data "
                "with the same --tokenizer settings"
            )
    if run.facts.get("fingerprint") != first.facts.get("fingerprint"):
        raise UserError(f"{run.path} was trained on other pairs than {first.path}; train both on the same data")
