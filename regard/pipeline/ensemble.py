"""Runs that write together: what they must have in common, and the one model that they are to a search."""

from __future__ import annotations

from collections.abc import Sequence

from regard.checkpoint import Run
from regard.data.tokenizer import Tokenizer
from regard.errors import UserError
from regard.models.ensemble import Ensemble


def ensemble_of(runs: Sequence[Run]) -> Ensemble:
    """The ensemble of several runs, of which the first says how to search."""
    first = runs[0]
    for run in runs:
        if run.task != "translation":
            raise UserError(f"{run.path} does {run.task}; only translators write together")
        for side in ("source", "target"):
            own, other = (getattr(each, f"{side}_tokenizer") for each in (run, first))
            assert isinstance(own, Tokenizer) and isinstance(other, Tokenizer)
            if not own.same_as(other):
                raise UserError(
                    f"{run.path} and {first.path} part their {side} text in different tokens, so their probabilities "
                    "are not of the same thing; train both on the same data with the same --tokenizer settings"
                )
    return Ensemble([run.model for run in runs])
