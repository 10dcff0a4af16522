"""How good a model is: measures, the reports made of them, and simple baselines."""

from regard.evaluation.baselines import baselines
from regard.evaluation.evaluate import (
    evaluate_captions,
    evaluate_classifier,
    evaluate_language,
    evaluate_translation,
    teacher_forced,
)
from regard.evaluation.metrics import Score, bleu, bleu_tokenizer, chrf, exact_match, ter
from regard.evaluation.render import render
from regard.evaluation.report import (
    CaptionReport,
    ClassifierReport,
    LanguageReport,
    Report,
    TeacherForced,
    TranslationReport,
)

__all__ = [
    "CaptionReport",
    "ClassifierReport",
    "LanguageReport",
    "Report",
    "Score",
    "TeacherForced",
    "TranslationReport",
    "baselines",
    "bleu",
    "bleu_tokenizer",
    "chrf",
    "evaluate_captions",
    "evaluate_classifier",
    "evaluate_language",
    "evaluate_translation",
    "exact_match",
    "render",
    "teacher_forced",
    "ter",
]
