"""Evaluation reports: records for programs (`as_dict`) that `render` turns into text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from regard.evaluation.metrics import Bucket, MetricScore, perplexity
from regard.evaluation.mistakes import Mistake


@dataclass(frozen=True)
class TeacherForced:
    """Loss and accuracy of each token, predicted from the true tokens before it."""

    loss: float  # nats per token, EOS included
    token_accuracy: float  # percent
    tokens: int
    sentence_accuracy: float  # percent with every token right: that of greedy search

    @property
    def perplexity(self) -> float:
        return perplexity(self.loss)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "perplexity": self.perplexity}


@dataclass(frozen=True)
class BaselineScore:
    """What a baseline reaches that learns nothing but a table."""

    name: str
    scores: dict[str, float]  # by the name of the metric


@dataclass(frozen=True)
class TranslationReport:
    sentences: int
    bleu: MetricScore
    chrf: MetricScore
    ter: MetricScore
    exact: MetricScore
    by_length: tuple[Bucket, ...]
    length_unit: str  # of the sources in by_length
    forced: TeacherForced | None
    unfinished: int  # outputs that the length limit ended
    too_long: int  # sources beyond the model's positions; they count as empty outputs
    errors: MetricScore | None = None  # edits in percent of the symbols or letters that short targets are spelt in
    baselines: tuple[BaselineScore, ...] = ()
    mistakes: tuple[Mistake, ...] = ()  # the worst first

    def as_dict(self) -> dict[str, Any]:
        return {"task": "translation", **_plain(self)}


@dataclass(frozen=True)
class LanguageReport:
    forced: TeacherForced
    characters: int
    bits_per_character: float
    baselines: dict[str, float]  # name → bits per character

    def as_dict(self) -> dict[str, Any]:
        return {"task": "continuation", **_plain(self)}


@dataclass(frozen=True)
class ClassScore:
    """Precision, recall and F1 of one class in percent; None where there is nothing to count."""

    name: str
    sentences: int
    precision: float | None  # of those predicted as this class
    recall: float | None  # of those of this class
    f1: float | None


@dataclass(frozen=True)
class ClassifierReport:
    sentences: int
    accuracy: MetricScore
    majority: MetricScore  # accuracy of always predicting the most frequent class
    macro_f1: float  # mean over the classes that occur
    classes: tuple[ClassScore, ...]
    confusion: tuple[tuple[int, ...], ...]  # rows: true classes, columns: predicted ones
    forced: TeacherForced | None
    too_long: int  # sources beyond the model's positions; they count as wrong and are in no column
    unknown: int  # examples of classes that were not in training; they count as wrong and are in no row
    baselines: tuple[BaselineScore, ...] = ()
    mistakes: tuple[Mistake, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {"task": "classification", **_plain(self)}


@dataclass(frozen=True)
class TaggingReport:
    sentences: int
    words: int
    accuracy: MetricScore  # of words
    whole: MetricScore  # sentences with every tag right
    new_words: MetricScore | None  # accuracy on words that the model has no vector of its own for; None: there are none
    macro_f1: float  # mean over the tags that occur
    classes: tuple[ClassScore, ...]  # by tag; its sentences are words
    confusion: tuple[tuple[int, ...], ...]  # rows: true tags, columns: predicted ones
    forced: TeacherForced | None
    too_long: int  # sentences beyond the model's positions; their words count as wrong and are in no column
    unknown: int  # words with a tag that was not in training; they count as wrong and are in no row
    baselines: tuple[BaselineScore, ...] = ()
    mistakes: tuple[Mistake, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {"task": "tagging", **_plain(self)}


@dataclass(frozen=True)
class CaptionReport:
    images: int
    exact: MetricScore
    bleu: MetricScore
    chrf: MetricScore
    pointing: (
        MetricScore | None
    )  # how often the peak of attention is on the object whose noun is decoded; None: not known
    by_length: tuple[Bucket, ...]
    length_unit: str  # of the captions in by_length
    forced: TeacherForced | None
    unfinished: int  # captions that the length limit ended
    baselines: tuple[BaselineScore, ...] = ()
    mistakes: tuple[Mistake, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {"task": "captioning", **_plain(self)}


@dataclass(frozen=True)
class GlossaryReport:
    """What a glossary does, in the sentences that hold its terms."""

    sentences: int
    terms: int
    kept_alone: int  # terms whose translation appears without the glossary
    kept: int  # with it
    forced: int  # of these, by constrained search
    chrf_alone: MetricScore
    chrf: MetricScore

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def render(self) -> str:
        """As text."""
        return "\n".join(
            [
                f"{self.sentences} sentences hold {self.terms} terms of the glossary",
                f"kept without it  {self.kept_alone:6}  {self.kept_alone / self.terms:6.1%}",
                f"kept with it     {self.kept:6}  {self.kept / self.terms:6.1%}   {self.forced} of them forced",
                f"chrF without it  {self.chrf_alone.value:6.1f}",
                f"chrF with it     {self.chrf.value:6.1f}   {self.chrf.value - self.chrf_alone.value:+.1f}",
            ]
        )


EvaluationReport = TranslationReport | LanguageReport | ClassifierReport | TaggingReport | CaptionReport


def _plain(report: EvaluationReport) -> dict[str, Any]:
    values = asdict(report)
    if report.forced is not None:
        values["forced"] = report.forced.as_dict()
    return values
