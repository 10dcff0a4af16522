"""How good a model is: measures, the reports made of them, and simple baselines."""

from regard.evaluation.baselines import language_baselines
from regard.evaluation.evaluate import (
    evaluate_captions,
    evaluate_classifier,
    evaluate_language,
    evaluate_tagger,
    evaluate_translation,
    teacher_forced,
)
from regard.evaluation.metrics import MetricScore, bleu, bleu_tokenizer, chrf, exact_match, ter
from regard.evaluation.render import render
from regard.evaluation.report import (
    CaptionReport,
    ClassifierReport,
    EvaluationReport,
    LanguageReport,
    TaggingReport,
    TeacherForced,
    TranslationReport,
)

__all__ = [
    "CaptionReport",
    "ClassifierReport",
    "EvaluationReport",
    "LanguageReport",
    "MetricScore",
    "TaggingReport",
    "TeacherForced",
    "TranslationReport",
    "bleu",
    "bleu_tokenizer",
    "chrf",
    "evaluate_captions",
    "evaluate_classifier",
    "evaluate_language",
    "evaluate_tagger",
    "evaluate_translation",
    "exact_match",
    "language_baselines",
    "render",
    "teacher_forced",
    "ter",
]
