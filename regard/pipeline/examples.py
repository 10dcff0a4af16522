"""What a run is evaluated on: its own examples, or parallel files."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from regard.checkpoint import Run
from regard.data.corpus import Example, Task
from regard.data.files import read_lines
from regard.errors import UserError


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
