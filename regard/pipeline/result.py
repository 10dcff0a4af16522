"""One output of a model, and the way back to what was regarded in making it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from regard.analysis.maps import AttentionMap
from regard.analysis.trace import Trace
from regard.errors import UserError


@dataclass(frozen=True)
class Result:
    """One output. `score` is the length-normalised log-probability that search ranked it by; for a class, its log."""

    text: str
    score: float
    tokens: tuple[str, ...]
    log_prob: float
    finished: bool = True  # False: the length limit ended it
    problem: str | None = None  # why there is no output, where there is none
    alternatives: tuple[Result, ...] = ()  # the n best, this one first, where more than one was asked for
    probabilities: dict[str, float] = field(default_factory=dict)  # of a classifier, most probable first
    tracer: Callable[[], Trace] | None = field(default=None, repr=False, compare=False)

    def trace(self) -> Trace:
        """Every attention and hidden state behind this output."""
        if self.tracer is None:
            raise UserError("there is no output to trace" + (f": {self.problem}" if self.problem else ""))
        return self.tracer()

    def attention(self, name: str | None = None) -> AttentionMap:
        """The map of one attention (see `.trace().attentions`), by default the last that looks at the source."""
        seen = self.trace()
        return seen.attention(name or default_attention(seen))

    def as_dict(self) -> dict[str, Any]:
        record: dict[str, Any] = {"text": self.text, "score": self.score, "log_prob": self.log_prob}
        record |= {"tokens": list(self.tokens), "finished": self.finished}
        if self.problem:
            record["problem"] = self.problem
        if self.probabilities:
            record["probabilities"] = self.probabilities
        if self.alternatives:
            record["alternatives"] = [other.as_dict() for other in self.alternatives]
        return record


NOTHING = Result("", 0.0, (), 0.0)  # of an empty line


def no_result(problem: object) -> Result:
    return Result("", 0.0, (), 0.0, finished=False, problem=str(problem))


def default_attention(seen: Trace) -> str:
    if not seen.attentions:
        raise UserError("this model has no attention to look at")
    return (seen.source_attentions or seen.attentions)[-1]
