"""Reports as plain text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from regard.evaluation.metrics import Bucket, MetricScore
from regard.evaluation.mistakes import Mistake
from regard.evaluation.report import (
    BaselineScore,
    CaptionReport,
    ClassifierReport,
    ClassScore,
    EvaluationReport,
    LanguageReport,
    TaggingReport,
    TeacherForced,
    TranslationReport,
)

WIDEST_TABLE = 20  # classes; above, only the most frequent confusions are shown
MOST_CONFUSED = 10


def render(report: EvaluationReport) -> str:
    match report:
        case TranslationReport():
            lines = _translation(report)
        case LanguageReport():
            lines = _language(report)
        case ClassifierReport():
            lines = _classifier(report)
        case TaggingReport():
            lines = _tagger(report)
        case CaptionReport():
            lines = _captions(report)
    if not isinstance(report, LanguageReport):
        lines += [*_baselines(report.baselines), *_mistakes(report.mistakes)]
    return "\n".join(lines)


def _translation(report: TranslationReport) -> list[str]:
    lines = [f"{report.sentences} sentences"]
    lines += _problems(report.unfinished, "ended by the length limit (search.max_tokens)")
    lines += _problems(report.too_long, "too long for the model, counted as empty outputs")
    lines += [_score(score) for score in (report.bleu, report.chrf, report.ter, report.exact)]
    if report.errors is not None:
        lines += [f"{_score(report.errors)}   edits in percent of the references"]
    lines += _forced(report.forced)
    lines += ["", f"exact match by length of the source in {report.length_unit}"]
    lines += [_bar(bucket) for bucket in report.by_length]
    lines += ["", "sacreBLEU signatures"]
    return [*lines, *(_signature(score) for score in (report.bleu, report.chrf, report.ter))]


def _captions(report: CaptionReport) -> list[str]:
    lines = [f"{report.images} images"]
    lines += _problems(report.unfinished, "ended by the length limit (search.max_tokens)")
    lines += [_score(score) for score in (report.exact, report.bleu, report.chrf)]
    if report.pointing is not None:
        lines += [f"{_score(report.pointing)}   peak of attention on the object whose noun is predicted"]
    lines += [*_forced(report.forced), "", f"exact match by length of the caption in {report.length_unit}"]
    lines += [_bar(bucket) for bucket in report.by_length]
    return [*lines, "", "sacreBLEU signatures", *(_signature(score) for score in (report.bleu, report.chrf))]


def _language(report: LanguageReport) -> list[str]:
    lines = [f"{report.characters} characters, {report.forced.tokens} tokens", *_forced(report.forced), ""]
    bits = {"this model": report.bits_per_character, **report.baselines}
    lines.append("bits per character, lower is better")
    lines += [f"  {name:<22} {value:6.3f}" for name, value in sorted(bits.items(), key=lambda item: item[1])]
    return lines


def _classifier(report: ClassifierReport) -> list[str]:
    lines = [f"{report.sentences} sentences"]
    lines += _problems(report.too_long, "too long for the model, counted as wrong")
    lines += _problems(report.unknown, "of a class that was not in training, counted as wrong")
    lines += [_score(report.accuracy)]
    lines += [f"{'majority':<15} {report.majority.value:6.2f}   always predicting the most frequent class"]
    lines += [f"{'macro F1':<15} {report.macro_f1:6.2f}", *_forced(report.forced), ""]
    return [*lines, *_classes(report.classes, report.confusion, "class", "sentences")]


def _tagger(report: TaggingReport) -> list[str]:
    lines = [f"{report.sentences} sentences, {report.words} words"]
    lines += _problems(report.too_long, "too long for the model, counted as wrong")
    lines += _problems(report.unknown, "words with a tag that was not in training, counted as wrong")
    lines += [_score(score) for score in (report.accuracy, report.whole, report.new_words) if score is not None]
    lines += [f"{'macro F1':<15} {report.macro_f1:6.2f}", *_forced(report.forced), ""]
    return [*lines, *_classes(report.classes, report.confusion, "tag", "words")]


def _baselines(baselines: Sequence[BaselineScore]) -> list[str]:
    if not baselines:
        return []
    width = max(len(baseline.name) for baseline in baselines)
    heads = "".join(f"{metric:>13}" for metric in baselines[0].scores)
    lines = ["", f"{'without learning':<{max(width, 16)}}{heads}"]
    for baseline in baselines:
        values = "".join(f"{value:13.2f}" for value in baseline.scores.values())
        lines.append(f"{baseline.name:<{max(width, 16)}}{values}")
    return lines


def _mistakes(mistakes: Sequence[Mistake]) -> list[str]:
    lines = []
    for mistake in mistakes:
        lines += ["", f"{mistake.score:6.2f}  {mistake.kind}"]
        for what, text in (("source", mistake.source), ("output", mistake.output), ("wanted", mistake.reference)):
            lines.append(f"  {what}  {text or '(empty)'}")
    return ["", "worst outputs", *lines] if lines else []


def _classes(classes: Sequence[ClassScore], confusion: Sequence[Sequence[int]], what: str, unit: str) -> list[str]:
    names = [label.name for label in classes]
    width = max(5, *map(len, names))
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    lines = [f"{what:<{width}}  precision  recall      F1  {unit:>9}"]
    for label in classes:
        values = f"{_number(label.precision):>9}  {_number(label.recall):>6}  {_number(label.f1):>6}"
        lines.append(f"{label.name:<{width}}  {values}  {label.sentences:>9}")
    if len(names) <= WIDEST_TABLE:
        title = f"confusion: rows are true {plural}, columns predicted ones"
        return [*lines, "", title, *_table(names, confusion)]
    return [*lines, "", "most frequent confusions", *_confusions(names, confusion)]


def _score(score: MetricScore) -> str:
    sure = "" if score.low is None else f"   95 % interval {score.low:.2f} to {score.high:.2f}"
    return f"{score.name:<15} {score.value:6.2f}{sure}"


def _signature(score: MetricScore) -> str:
    return f"  {score.name:<5} {score.signature}"


def _forced(forced: TeacherForced | None) -> list[str]:
    if forced is None:
        return []
    return [
        f"{'token accuracy':<15} {forced.token_accuracy:6.2f}   of {forced.tokens}, each after the true ones",
        f"{'perplexity':<15} {forced.perplexity:6.2f}   {forced.loss:.4f} nats per token",
    ]


def _problems(count: int, what: str) -> list[str]:
    return [f"  of these {count} {what}"] if count else []


def _bar(bucket: Bucket) -> str:
    span = f"{bucket.shortest}" if bucket.shortest == bucket.longest else f"{bucket.shortest} to {bucket.longest}"
    filled = round(bucket.exact / 4)
    return f"  {span:>12}  {'█' * filled}{'░' * (25 - filled)} {bucket.exact:6.2f}  of {bucket.sentences}"


def _table(names: Sequence[str], confusion: Sequence[Sequence[int]]) -> list[str]:
    width = max(5, *map(len, names))
    cell = max(4, len(str(max(map(max, confusion)))) + 1, min(width, 6) + 1)
    heads = "".join(f"{name[: cell - 1]:>{cell}}" for name in names)
    rows = ["".join(f"{count or '·':>{cell}}" for count in row) for row in confusion]
    return [" " * width + heads, *(f"{name:<{width}}{row}" for name, row in zip(names, rows, strict=True))]


def _confusions(names: Sequence[str], confusion: Sequence[Sequence[int]]) -> list[str]:
    wrong = [
        (count, names[truth], names[guess])
        for truth, row in enumerate(confusion)
        for guess, count in enumerate(row)
        if count and truth != guess
    ]
    wrong.sort(key=lambda entry: -entry[0])
    return [f"  {count:>6}  {truth} predicted as {guess}" for count, truth, guess in wrong[:MOST_CONFUSED]] or [
        "  none"
    ]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
