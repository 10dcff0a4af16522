"""The outputs of a model and of the changed one for a text, and how probable each finds both."""

from __future__ import annotations

from dataclasses import dataclass

from regard.config import SearchSettings
from regard.data.corpus import Example
from regard.pipeline.interface import Pipeline
from regard.pipeline.result import Result


@dataclass(frozen=True)
class TwoOutputs:
    """`by_whole` and `by_changed`: the log-probability of the whole model's output and of the changed one's, by each of
    the two models; None where the outputs cannot be forced (a language model's)."""

    whole: Result
    changed: Result
    by_whole: tuple[float, float] | None
    by_changed: tuple[float, float] | None


def two_outputs(pipeline: Pipeline, changed: Pipeline, text: str, search: SearchSettings) -> TwoOutputs:
    whole, other = (model.translate_all([text], search)[0] for model in (pipeline, changed))
    if pipeline.run.task == "continuation":
        return TwoOutputs(whole, other, None, None)
    texts = whole.text, other.text
    return TwoOutputs(whole, other, _of_both(pipeline, text, texts), _of_both(changed, text, texts))


def _of_both(pipeline: Pipeline, text: str, outputs: tuple[str, str]) -> tuple[float, float] | None:
    first, second = (log_probability(pipeline, text, output) for output in outputs)
    return None if first is None or second is None else (first, second)


def log_probability(pipeline: Pipeline, text: str, output: str) -> float | None:
    """Of an output, with its end, by this model; None where it is too long to be forced."""
    forced = pipeline.teacher_forced([Example(text, output)])
    return None if forced is None else -forced.loss * forced.tokens


def render(outputs: TwoOutputs) -> str:
    """Two lines, the output at their ends. An empty output is written as (empty)."""
    width = max(len("log-prob"), 9)
    lines = [f"{'':<8}{'by whole':>{width}}  {'by changed':>10}  output"]
    rows = zip(("whole", "changed"), (outputs.whole, outputs.changed), strict=True)
    for index, (name, result) in enumerate(rows):
        scores = [None if by is None else by[index] for by in (outputs.by_whole, outputs.by_changed)]
        if scores == [None, None]:
            scores[index] = result.log_prob
        first, second = ("·" if score is None else f"{score:.3f}" for score in scores)
        lines.append(f"{name:<8}{first:>{width}}  {second:>10}  {result.text or '(empty)'}")
    return "\n".join(lines)
