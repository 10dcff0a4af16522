"""From outputs and references to reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import torch
from torch.nn import functional as F

from regard.data.batches import Batch
from regard.errors import UserError
from regard.evaluation import metrics
from regard.evaluation.report import (
    CaptionReport,
    ClassifierReport,
    ClassScore,
    LanguageReport,
    TaggingReport,
    TeacherForced,
    TranslationReport,
)
from regard.inference.batching import AnyModel, device_of, evaluating


def teacher_forced(model: AnyModel, batches: Iterable[Batch]) -> TeacherForced:
    """Loss and accuracy per target token (EOS included; of a classifier: per class), each row counted once."""
    loss, right, tokens, whole, sentences = 0.0, 0, 0, 0, 0
    device = device_of(model)
    with evaluating(model):
        for batch in batches:
            logits = model(batch.source.to(device), batch.source_mask.to(device), batch.target_in.to(device))
            mask = batch.target_mask.to(device)
            scores, truth = logits[mask].float(), batch.target_out.to(device)[mask]  # (n, V), (n,)
            loss += F.cross_entropy(scores, truth, reduction="sum").item()
            hits = torch.ones_like(mask).masked_scatter(mask, scores.argmax(-1) == truth)  # (B, T)
            right += int(hits[mask].sum())
            tokens += truth.numel()
            whole += int(hits.all(-1).sum())
            sentences += len(hits)
    if tokens == 0:
        raise UserError("nothing to evaluate: 0 target tokens; give at least one pair")
    return TeacherForced(loss / tokens, 100 * right / tokens, tokens, 100 * whole / sentences)


def evaluate_translation(
    hypotheses: Sequence[str],
    references: Sequence[str],
    sources: Sequence[str],
    *,
    lengths: Sequence[int] | None = None,
    forced: TeacherForced | None = None,
    unfinished: int = 0,
    too_long: int = 0,
    resamples: int = metrics.RESAMPLES,
    tokenize: str = "13a",
    spelt_in: Literal["symbol", "letter"] | None = None,
) -> TranslationReport:
    """All measures of outputs, which are texts. lengths: of the sources in tokens; without them, in characters.

    spelt_in: what edits are counted in: symbols parted by spaces, or letters; None: they are not counted.
    """
    metrics.check_rows(sources, references)
    by_length = lengths if lengths is not None else [len(source) for source in sources]
    return TranslationReport(
        sentences=len(references),
        bleu=metrics.bleu(hypotheses, references, resamples, tokenize),
        chrf=metrics.chrf(hypotheses, references, resamples),
        ter=metrics.ter(hypotheses, references, resamples),
        exact=metrics.exact_match(hypotheses, references),
        by_length=metrics.exact_by_length(hypotheses, references, by_length),
        length_unit="characters" if lengths is None else "tokens",
        forced=forced,
        unfinished=unfinished,
        too_long=too_long,
        errors=None if spelt_in is None else _errors(hypotheses, references, spelt_in, resamples),
    )


def _errors(
    hypotheses: Sequence[str], references: Sequence[str], unit: Literal["symbol", "letter"], resamples: int
) -> metrics.MetricScore:
    split = str.split if unit == "symbol" else list
    return metrics.error_rate(
        [split(text) for text in hypotheses], [split(text) for text in references], unit, resamples
    )


def evaluate_captions(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    pointing: metrics.MetricScore | None = None,
    forced: TeacherForced | None = None,
    unfinished: int = 0,
    resamples: int = metrics.RESAMPLES,
    tokenize: str | None = None,
) -> CaptionReport:
    """Exact match and BLEU (of n-grams up to 4) of captions; exact match also by the words of the reference."""
    return CaptionReport(
        images=len(references),
        exact=metrics.exact_match(hypotheses, references),
        bleu=metrics.bleu(hypotheses, references, resamples, tokenize or metrics.bleu_tokenizer(references)),
        chrf=metrics.chrf(hypotheses, references, resamples),
        pointing=pointing,
        by_length=metrics.exact_by_length(hypotheses, references, [len(text.split()) for text in references]),
        length_unit="words",
        forced=forced,
        unfinished=unfinished,
    )


def evaluate_language(
    forced: TeacherForced, references: Iterable[str], baselines: Mapping[str, float] | None = None
) -> LanguageReport:
    """Perplexity and bits per character of texts that `forced` was measured on."""
    characters = sum(map(len, references))
    if characters == 0:
        raise UserError("nothing to evaluate: the references have 0 characters; give some text")
    bits = metrics.bits_per_character(forced.loss, forced.tokens, characters)
    return LanguageReport(forced, characters, bits, dict(baselines or {}))


def evaluate_classifier(
    predicted: Sequence[int | None],
    truth: Sequence[int | None],
    names: Sequence[str],
    forced: TeacherForced | None = None,
    too_long: int = 0,
) -> ClassifierReport:
    """Accuracy, the confusion table and each class apart.

    A prediction of None: the source was empty or too long. A truth of None: a class that was not in training. Both
    count as wrong.
    """
    metrics.check_rows(predicted, truth)
    known = [label for label in truth if label is not None]
    table, classes = _class_table(predicted, truth, names)
    hits = table.diagonal().tolist()
    counts = [score.sentences for score in classes]
    return ClassifierReport(
        sentences=len(truth),
        accuracy=metrics.share("accuracy", sum(hits), len(truth)),
        majority=metrics.share("majority", max(counts), len(truth)),
        macro_f1=_macro_f1(classes),
        classes=classes,
        confusion=tuple(tuple(row) for row in table.tolist()),
        forced=forced,
        too_long=too_long,
        unknown=len(truth) - len(known),
    )


def evaluate_tagger(
    predicted: Sequence[Sequence[str] | None],
    truth: Sequence[Sequence[str]],
    names: Sequence[str],
    known_words: Sequence[Sequence[bool]],
    forced: TeacherForced | None = None,
    too_long: int = 0,
) -> TaggingReport:
    """Accuracy of tags, the confusion table, and each tag apart.

    A prediction of None: the sentence was too long; all its words count as wrong. known_words: by word, whether the
    model has a vector of its own for it.
    """
    metrics.check_rows(predicted, truth)
    ids = {name: number for number, name in enumerate(names)}
    guesses: list[int | None] = []
    labels: list[int | None] = []
    known: list[bool] = []
    whole = 0
    for guessed, tags, knows in zip(predicted, truth, known_words, strict=True):
        if len(knows) != len(tags) or (guessed is not None and len(guessed) != len(tags)):
            raise UserError(f"{len(knows)} words and {len(tags)} tags ({' '.join(tags)!r}); give a tag for each word")
        guesses += [None] * len(tags) if guessed is None else [ids[tag] for tag in guessed]
        labels += [ids.get(tag) for tag in tags]
        known += knows
        whole += guessed is not None and list(guessed) == list(tags)
    right = [guess is not None and guess == label for guess, label in zip(guesses, labels, strict=True)]
    new = [hit for hit, knows in zip(right, known, strict=True) if not knows]
    table, classes = _class_table(guesses, labels, names)
    return TaggingReport(
        sentences=len(truth),
        words=len(labels),
        accuracy=metrics.share("accuracy", sum(right), len(right)),
        whole=metrics.share("all tags right", whole, len(truth)),
        new_words=metrics.share("on new words", sum(new), len(new)) if new else None,
        macro_f1=_macro_f1(classes),
        classes=classes,
        confusion=tuple(tuple(row) for row in table.tolist()),
        forced=forced,
        too_long=too_long,
        unknown=labels.count(None),
    )


def _class_table(
    predicted: Sequence[int | None], truth: Sequence[int | None], names: Sequence[str]
) -> tuple[torch.Tensor, tuple[ClassScore, ...]]:
    """The confusion table of what is known on both sides, and the scores of each class."""
    known = [label for label in truth if label is not None]
    pairs = [(guess, label) for guess, label in zip(predicted, truth, strict=True) if guess is not None]
    counted = [(guess, label) for guess, label in pairs if label is not None]
    predictions, labels = [guess for guess, _ in counted], [label for _, label in counted]
    table = torch.tensor(metrics.confusion(predictions, labels, len(names)))
    counts = torch.bincount(torch.tensor(known, dtype=torch.long), minlength=len(names)).tolist()
    return table, tuple(map(_class_score, names, counts, table.sum(0).tolist(), table.diagonal().tolist()))


def _macro_f1(classes: Sequence[ClassScore]) -> float:
    scores = [label.f1 or 0.0 for label in classes if label.sentences] or [0.0]
    return sum(scores) / len(scores)


def _class_score(name: str, count: int, guessed: int, hit: int) -> ClassScore:
    return ClassScore(
        name=name,
        sentences=count,
        precision=100 * hit / guessed if guessed else None,
        recall=100 * hit / count if count else None,
        f1=200 * hit / (count + guessed) if count + guessed else None,
    )
