"""What a run prints before its first step."""

from __future__ import annotations

from typing import Any

import torch

from regard.experiment.setup import Setup
from regard.training.state import TrainingState


def banner(setup: Setup, state: TrainingState, facts: dict[str, Any]) -> list[str]:
    """What is about to be trained on what, and what was left out."""
    corpus, plan = setup.corpus, setup.plan
    counts = ", ".join(f"{len(examples):,} {split}" for split, examples in corpus.splits().items())
    lines = [f"{corpus.name}: {counts} pairs", *(f"note: {note}" for note in corpus.notes)]
    if setup.skipped:
        reasons = "; ".join(f"{count:,} {why}" for why, count in setup.skipped.items())
        lines.append(f"left out: {reasons}")
    if setup.train.differing:
        lines.append(
            f"note: {setup.train.differing:,} training pairs hold different placeholders on their sides and are "
            "learned as plain text"
        )
    lines.append(
        f"{plan.model.preset or 'model'}: {setup.parameters:,} parameters; {plan.tokenizer.kind} tokenizer, "
        f"{_sizes(setup)} entries; CPU threads: {torch.get_num_threads()}"
    )
    if setup.copied:
        lines.append(f"initialised from {plan.training.init_from}: {setup.copied:,} of the parameters are copied")
    if state.progress.step:
        lines.append(f"resumed after step {state.progress.step:,}")
        if (facts["threads"], facts["torch"]) != (torch.get_num_threads(), torch.__version__):
            began = f"{facts['threads']} threads and torch {facts['torch']}"
            lines.append(f"note: the run began with {began}, so its weights may differ in the last bits")
    return lines


def _sizes(setup: Setup) -> str:
    source, target = setup.source, setup.target
    if setup.corpus.images is not None:
        return f"{target.size:,}"
    return f"{source.size:,}" if source is target else f"{source.size:,} and {target.size:,}"
