"""What a run prints before its first step."""

from __future__ import annotations

from typing import Any

import torch

from regard.config import Plan
from regard.data.codecs import same_vocabulary
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
        f"{plan.model.preset or 'model'}: {setup.parameters:,} parameters; {_kinds(setup)} tokenizer, "
        f"{_sizes(setup)} entries; CPU threads: {torch.get_num_threads()}"
    )
    lines += choices(plan)
    if setup.copied:
        lines.append(f"initialised from {plan.training.init_from}: {setup.copied:,} of the parameters are copied")
    if state.progress.step:
        lines.append(f"resumed after step {state.progress.step:,}")
        if (facts["threads"], facts["torch"]) != (torch.get_num_threads(), torch.__version__):
            began = f"{facts['threads']} threads and torch {facts['torch']}"
            lines.append(f"note: the run began with {began}, so its weights may differ in the last bits")
    return lines


CHOICES = {
    "tokens": ("tokenizer.source_kind", "tokenizer.kind", "tokenizer.shared"),
    "model": ("model.preset", "model.width", "model.dropout"),
    "training": ("training.optimizer", "training.batch_tokens", "training.steps", "training.metric"),
}
"""What a run says of its plan, a line each: how text is cut, what learns it, and how."""


def choices(plan: Plan) -> list[str]:
    """What the corpus decided, and why; nothing of what was set."""
    tree, lines = plan.as_dict(), []
    for line, names in CHOICES.items():
        parts = []
        for section, key in (name.split(".") for name in names):
            reason = plan.reasons.get(f"{section}.{key}", "")
            if reason.startswith("corpus: ") and key in tree[section]:
                parts.append(f"{key} {_written(tree[section][key])} ({reason.removeprefix('corpus: ')})")
        if parts:
            lines.append(f"chosen, {line}: {'; '.join(parts)}")
    return lines


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _kinds(setup: Setup) -> str:
    source, target = setup.source.kind, setup.target.kind
    texts = [kind for kind in (source, target) if kind not in ("images", "labels")]
    return " and ".join(dict.fromkeys(texts))


def _sizes(setup: Setup) -> str:
    source, target = setup.source, setup.target
    if setup.corpus.images is not None:
        return f"{target.size:,}"
    return f"{source.size:,}" if same_vocabulary(source, target) else f"{source.size:,} and {target.size:,}"
