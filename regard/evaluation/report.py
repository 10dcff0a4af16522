"""What an evaluation found: records for programs (`as_dict`) that `render` turns into text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from regard.evaluation.metrics import Bucket, MetricScore, perplexity


@dataclass(frozen=True)
class TeacherForced:
    """How well the model predicts each token when it is told all those before."""

    loss: float  # nats per token, EOS included
    token_accuracy: float  # percent
    tokens: int
    sentence_accuracy: float  # percent with every token right: those that greedy search gets right

    @property
    def perplexity(self) -> float:
        return perplexity(self.loss)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "perplexity": self.perplexity}


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
    too_long: int  # sources that the model could not read; they count as empty outputs

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
    """One class among the others; a value is None where nothing was there to count. Percent."""

    name: str
    sentences: int
    precision: float | None  # of those named so, how many are
    recall: float | None  # of those that are, how many were named so
    f1: float | None


@dataclass(frozen=True)
class ClassifierReport:
    sentences: int
    accuracy: MetricScore
    majority: MetricScore  # what always naming the most frequent class would reach
    macro_f1: float  # mean over the classes that occur
    classes: tuple[ClassScore, ...]
    confusion: tuple[tuple[int, ...], ...]  # rows: the truth, columns: what was named
    forced: TeacherForced | None
    too_long: int  # sources that the model could not read; they count as wrong and are in no column
    unknown: int  # examples of classes that the model was never shown; they count as wrong and are in no row

    def as_dict(self) -> dict[str, Any]:
        return {"task": "classification", **_plain(self)}


@dataclass(frozen=True)
class CaptionReport:
    pictures: int
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

    def as_dict(self) -> dict[str, Any]:
        return {"task": "captioning", **_plain(self)}


EvaluationReport = TranslationReport | LanguageReport | ClassifierReport | CaptionReport


def _plain(report: EvaluationReport) -> dict[str, Any]:
    values = asdict(report)
    if report.forced is not None:
        values["forced"] = report.forced.as_dict()
    return values
