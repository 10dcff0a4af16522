"""One output of a model: the text, its score, and its attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from regard.analysis.alignment import Link, align
from regard.analysis.maps import AttentionMap
from regard.analysis.trace import Trace
from regard.data.glossary import TermUse
from regard.errors import UserError
from regard.evaluation.calibration import Calibration, TokenScores


@dataclass(frozen=True)
class TaggedWord:
    """A word and its most probable tag."""

    word: str
    tag: str
    probability: float


@dataclass(frozen=True)
class Result:
    """One output. `score` is the length-normalised log-probability that ranked it; of a class, its log-probability."""

    text: str
    score: float
    tokens: tuple[str, ...]
    log_prob: float
    finished: bool = True  # False: the length limit ended it
    problem: str | None = None  # why there is no output, where there is none
    review: str | None = None  # what a person must look at: a placeholder that is missing, or that the source lacks
    missing_numbers: tuple[str, ...] = ()  # of the source, that the output does not hold
    terms: tuple[TermUse, ...] = ()  # of the glossary, that the source holds
    ids: tuple[int, ...] = ()  # of the tokens
    alternatives: tuple[Result, ...] = ()  # the n best, this one first, where n_best is above 1
    probabilities: dict[str, float] = field(default_factory=dict)  # of a classifier, most probable first
    tags: tuple[TaggedWord, ...] = ()  # of a tagger
    scorer: Callable[[], tuple[TokenScores, ...]] | None = field(default=None, repr=False, compare=False)
    calibration: Calibration | None = field(default=None, repr=False, compare=False)
    tracer: Callable[[], Trace] | None = field(default=None, repr=False, compare=False)

    @property
    def truncated(self) -> bool:
        """There is an output, and the length limit ended it."""
        return not self.finished and self.problem is None

    @cached_property
    def confidence(self) -> float | None:
        """The probability that the output is right as it is, by `regard calibrate`; None of a run without that. Of an
        ICU message that of its weakest branch; 0 where there is no output, or one that a person must look at."""
        if self.calibration is None:
            return None
        if self.problem or self.review or self.scorer is None:
            return 0.0
        return min(map(self.calibration.confidence, self.scorer()))

    def trace(self) -> Trace:
        """Every attention and hidden state of one teacher-forced forward pass over this output."""
        if self.tracer is None:
            raise UserError("there is no output to trace" + (f": {self.problem}" if self.problem else ""))
        return self.tracer()

    def attention(self, name: str | None = None) -> AttentionMap:
        """The map of one attention (see `.trace().attentions`), by default the last that attends to the source."""
        trace = self.trace()
        return trace.attention(name or trace.default_attention)

    def alignment(self, attention: str | None = None) -> frozenset[Link]:
        """Links (source word, target word), from 0: each target word with the source word of its highest weight.

        `attention`: one of `.trace().source_attentions`, by default the last. Words are split at white space.
        """
        if not self.tokens:
            return frozenset()
        trace = self.trace()
        names = trace.source_attentions
        name = attention or (names[-1] if names else None)
        if name is None or name not in names:
            raise UserError(f"no attention to the source is called {name!r}; there are {', '.join(names) or 'none'}")
        return align(trace.source_map(name))

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values for JSON, without the attention."""
        record: dict[str, Any] = {"text": self.text, "score": self.score, "log_prob": self.log_prob}
        record |= {"tokens": list(self.tokens), "finished": self.finished}
        record |= {key: value for key in ("problem", "review") if (value := getattr(self, key))}
        if self.missing_numbers:
            record["missing_numbers"] = list(self.missing_numbers)
        if self.terms:
            record["terms"] = [asdict(term) for term in self.terms]
        if self.probabilities:
            record["probabilities"] = self.probabilities
        if self.tags:
            record["tags"] = [asdict(word) for word in self.tags]
        if self.alternatives:
            record["alternatives"] = [alternative.as_dict() for alternative in self.alternatives]
        return record


EMPTY = Result("", 0.0, (), 0.0)  # of an empty line


def no_result(problem: object) -> Result:
    return Result("", 0.0, (), 0.0, finished=False, problem=str(problem))
