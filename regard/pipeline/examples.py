"""The examples that a run is evaluated on: its own, or parallel files; and batches of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from regard.checkpoint import Run
from regard.data.batches import Batch, encode_pairs, make_batch, plan
from regard.data.corpus import Example, Task
from regard.data.files import read_lines
from regard.data.sources import Source
from regard.errors import UserError
from regard.inference import too_long
from regard.inference.batching import AnyModel


def own_examples(run: Run, split: Literal["dev", "test"]) -> list[Example]:
    """The development or test examples that are stored with the run."""
    examples = run.examples(split)
    if not examples:
        raise UserError(f"{run.path} holds no {split} examples; give --source and --reference")
    return examples


def parallel_examples(source: str | Path | None, reference: str | Path | None, task: Task) -> list[Example]:
    """The lines of two parallel files; a language model needs the references alone."""
    if reference is None:
        raise UserError(f"--source {source} needs --reference, its true translations")
    if source is None and task != "continuation":
        raise UserError(f"--reference {reference} needs --source, the texts to translate")
    references = list(read_lines(reference))
    sources = list(read_lines(source)) if source is not None else [""] * len(references)
    if len(sources) != len(references):
        raise UserError(
            f"{source} has {len(sources)} lines and {reference} has {len(references)}; they must be parallel"
        )
    if not references:
        raise UserError(f"{reference} is empty: there is nothing to evaluate")
    return [Example(*pair) for pair in zip(sources, references, strict=True)]


def forced_batches(run: Run, model: AnyModel, examples: Sequence[Example], batch_tokens: int) -> list[Batch] | None:
    """Batches for teacher forcing; None where an example is too long for the model."""
    sources = run.source_codec.encode_batch([example.source for example in examples])
    targets: list[list[int]] = [[] for _ in examples]
    if run.task not in ("classification", "tagging"):
        targets = run.target_codec.encode_batch([example.target for example in examples])
    if any(too_long(model, *pair) for pair in zip(sources, targets, strict=True)):
        return None
    pairs, _ = encode_pairs(list(examples), run.source_codec, run.target_codec)
    return [make_batch(pairs, rows) for rows in plan(pairs, batch_tokens, seed=0, epoch=0)]


def check_fits(model: AnyModel, source: Source, target: Sequence[int]) -> None:
    """Refuse a source or a target that is longer than the model's positions."""
    problem = too_long(model, source, target)
    if problem is not None:
        raise UserError(str(problem))
