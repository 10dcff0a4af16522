"""Head ablation: each attention head is silenced in turn, and what the model loses without it is measured.

Michel et al. 2019, section 3. Teacher-forced, in batches: loss per token, token accuracy, and sentence accuracy, which
is that of greedy search (each token is the most probable one after the true ones before it).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from regard.analysis.ablation import attention_heads, without
from regard.data.batches import Batch
from regard.errors import UserError
from regard.evaluation import TeacherForced, teacher_forced
from regard.inference import ProgressCallback
from regard.models.seq2seq import Model
from regard.nn.taps import watching


@dataclass(frozen=True)
class HeadAblationRow:
    """The model without one head, or (head None) without a whole attention."""

    attention: str
    head: int | None
    loss: float  # nats per token
    token_accuracy: float  # percent
    sentence_accuracy: float  # percent

    @property
    def name(self) -> str:
        return self.attention if self.head is None else f"{self.attention}.{self.head}"


@dataclass(frozen=True)
class HeadAblationReport:
    """Ranked by the loss without the part, highest first. Where the loss falls, the head did harm."""

    sentences: int
    whole: TeacherForced
    rows: tuple[HeadAblationRow, ...]

    def as_dict(self) -> dict[str, Any]:
        rows = [{**asdict(row), "name": row.name, "loss_rise": row.loss - self.whole.loss} for row in self.rows]
        return {"sentences": self.sentences, "whole": self.whole.as_dict(), "rows": rows}


def ablated_parts(model: Model) -> list[tuple[str, int | None]]:
    """Every attention (head None), and every head of those that have several."""
    return [
        (name, head)
        for name, heads in attention_heads(model).items()
        for head in (None, *(range(heads) if heads > 1 else ()))
    ]


def ablate_heads(
    model: Model, batches: Sequence[Batch], progress: ProgressCallback | None = None
) -> HeadAblationReport:
    """Loss and accuracy of the whole model, and without each part."""
    parts = ablated_parts(model)
    if not parts:
        raise UserError("this model has no attention, so there is no head to silence")
    whole = teacher_forced(model, batches)
    rows = []
    for attention, head in parts:
        name = attention if head is None else f"{attention}.{head}"
        with watching(model, without(model, [name]), record=False):
            ablated = teacher_forced(model, batches)
        rows.append(HeadAblationRow(attention, head, ablated.loss, ablated.token_accuracy, ablated.sentence_accuracy))
        if progress is not None:
            progress(1)
    ranked = tuple(sorted(rows, key=lambda row: -row.loss))
    return HeadAblationReport(sum(len(batch.rows) for batch in batches), whole, ranked)


def render(report: HeadAblationReport) -> str:
    """The table, the greatest loss first."""
    whole = report.whole
    width = max(22, *(len(row.name) + 2 for row in report.rows))
    lines = [
        f"what is lost without each head: {report.sentences} sentences, {whole.tokens:,} tokens, teacher-forced",
        "",
        f"{'silenced':<{width}}{'loss':>8}{'rise':>9}{'tokens right':>14}{'sentences right':>17}",
        f"{'(nothing)':<{width}}{whole.loss:8.4f}{'':>9}{whole.token_accuracy:14.1f}{whole.sentence_accuracy:17.1f}",
    ]
    for row in report.rows:
        numbers = f"{row.loss:8.4f}{row.loss - whole.loss:+9.4f}{row.token_accuracy:14.1f}{row.sentence_accuracy:17.1f}"
        lines.append(f"{row.name:<{width}}{numbers}" + ("  all heads" if row.head is None else ""))
    return "\n".join(lines)
