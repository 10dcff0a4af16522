"""Attention moved to other keys and states taken from another text, on top of what is changed in a pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from regard.analysis.ablation import composed, moved, patched
from regard.errors import UserError
from regard.inference.batching import device_of, pad_sources
from regard.nn.taps import Replacement, watching

if TYPE_CHECKING:
    from regard.pipeline.interface import Pipeline


def add_moves(
    pipeline: Pipeline, permute: Sequence[str], seed: int, force: Mapping[str, int], patch: Mapping[str, str]
) -> dict[str, Replacement]:
    """The replacements of the pipeline and, after them, the new ones."""
    if pipeline.model is not pipeline.run.model:
        raise UserError("an ensemble has no heads of its own to change; load one run alone")
    new = moved(pipeline.run.model, permute, seed, force)
    new |= {name: _states_of(pipeline, name, text) for name, text in patch.items()}
    before = pipeline.replaced
    both = {name: composed([before[name], change]) if name in before else change for name, change in new.items()}
    return {**before, **both}


def _states_of(pipeline: Pipeline, name: str, text: str) -> Replacement:
    """What is at this tap when the encoder reads `text`."""
    model = pipeline.run.model
    with watching(model) as watch:
        source, mask = pad_sources(pipeline.source_codec.encode_batch([text]), device_of(model))
        model.encode(source, mask)
    tensors = {tap: states for tap, states in watch.tensors().items() if tap.startswith("encoder.")}
    if name not in tensors or name.endswith(".weights"):
        known = ", ".join(tap for tap in tensors if not tap.endswith(".weights"))
        raise UserError(f"no states of the encoder are called {name!r}; this model has: {known or 'none'}")
    return patched(name, tensors[name].detach())
