"""Measures of outputs against references. Percentages run from 0 to 100; intervals cover 95 %."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric

from regard.errors import UserError

RESAMPLES = 1000
SEED = 12345  # sacreBLEU's own default: the intervals equal those of its command line


@dataclass(frozen=True)
class MetricScore:
    """The value of a metric with its confidence interval."""

    name: str
    value: float
    low: float | None = None  # of the 95 % interval; None: not computed
    high: float | None = None
    signature: str | None = None  # sacreBLEU's: what must be equal for two scores to be compared


@dataclass(frozen=True)
class Bucket:
    """Exact match for sources of a range of lengths."""

    shortest: int
    longest: int
    sentences: int
    exact: float  # percent


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], resamples: int = RESAMPLES, tokenize: str = "13a"
) -> MetricScore:
    """BLEU of the corpus. tokenize: a tokenizer of sacreBLEU, `none` for text that is split by spaces already."""
    return _corpus_score(BLEU(tokenize=tokenize, force=True), "BLEU", hypotheses, references, resamples)


def chrf(hypotheses: Sequence[str], references: Sequence[str], resamples: int = RESAMPLES) -> MetricScore:
    return _corpus_score(CHRF(), "chrF", hypotheses, references, resamples)


def sentence_chrf(hypothesis: str, reference: str) -> float:
    """chrF of one sentence, from 0 to 100."""
    return CHRF().sentence_score(hypothesis, [reference]).score


def nearest(hypotheses: Sequence[str], reference: str) -> int:
    """The index of the hypothesis with the highest sentence chrF; of equals the first."""
    metric = CHRF()
    return int(np.argmax([metric.sentence_score(hypothesis, [reference]).score for hypothesis in hypotheses]))


def ter(hypotheses: Sequence[str], references: Sequence[str], resamples: int = RESAMPLES) -> MetricScore:
    """Translation edit rate: lower is better."""
    return _corpus_score(TER(), "TER", hypotheses, references, resamples)


def _corpus_score(
    metric: Metric, name: str, hypotheses: Sequence[str], references: Sequence[str], resamples: int
) -> MetricScore:
    """The score of summed sentence statistics; a bootstrap resample sums other sentences, and compares no text."""
    check_rows(hypotheses, references)
    statistics = np.asarray(metric._extract_corpus_statistics(hypotheses, [references]), dtype=np.float64)  # (n, k)

    def score(totals: np.ndarray) -> float:
        return float(metric._compute_score_from_stats(totals.tolist()).score)

    value = score(statistics.sum(0))
    if resamples == 0:
        return MetricScore(name, value, signature=metric.get_signature().format())
    metric.n_bootstrap, metric.seed = resamples, SEED  # so that the signature names them
    low, high = interval([score(totals) for totals in resampled_sums(statistics, resamples)])
    return MetricScore(name, value, low, high, metric.get_signature().format())


def resampled_sums(statistics: np.ndarray, resamples: int) -> np.ndarray:
    """Sums over n rows drawn with replacement, for each resample: (n, k) → (resamples, k)."""
    rows = len(statistics)
    generator = np.random.default_rng(SEED)
    drawn = (generator.choice(rows, size=rows, replace=True) for _ in range(resamples))
    return np.stack([np.bincount(row, minlength=rows) @ statistics for row in drawn])


def interval(scores: Sequence[float]) -> tuple[float, float]:
    """The 2.5 % and 97.5 % quantiles."""
    ordered = sorted(scores)
    outside = len(ordered) // 40
    return ordered[outside], ordered[len(ordered) - outside - 1]


def bleu_tokenizer(references: Sequence[str]) -> str:
    """sacreBLEU's 13a for scripts with spaces between words; characters for text that is mostly CJK."""
    text = "".join(references)
    ideographs = sum("\u3040" <= letter <= "\u9fff" or letter > "\U00020000" for letter in text)
    return "char" if ideographs > 0.3 * max(len(text), 1) else "13a"


def share(name: str, right: int, of: int) -> MetricScore:
    """Percent right, with Wilson's interval: the bootstrap interval of 100 % has no width."""
    if of == 0:
        raise UserError(f"{name}: nothing to evaluate; give at least one pair")
    z, rate = 1.959964, right / of
    middle = (rate + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(rate * (1 - rate) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return MetricScore(name, 100 * rate, 100 * low, 100 * high)


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> MetricScore:
    """Percent of outputs that equal their reference to the character."""
    check_rows(hypotheses, references)
    return share("exact match", sum(map(str.__eq__, hypotheses, references)), len(references))


def edit_distance(hypothesis: Sequence[object], reference: Sequence[object]) -> int:
    """The fewest insertions, deletions and replacements that turn one into the other (Levenshtein 1966)."""
    row = list(range(len(reference) + 1))
    for place, symbol in enumerate(hypothesis, start=1):
        diagonal, row[0] = row[0], place
        for column, expected in enumerate(reference, start=1):
            replaced = diagonal + (symbol != expected)
            diagonal, row[column] = row[column], min(replaced, row[column] + 1, row[column - 1] + 1)
    return row[-1]


def error_rate(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]], unit: str, resamples: int = RESAMPLES
) -> MetricScore:
    """Edits in percent of the references' symbols: of phonemes PER, of characters CER. Lower is better."""
    check_rows(hypotheses, references)
    pairs = list(zip(hypotheses, references, strict=True))
    statistics = np.array([(edit_distance(*pair), len(pair[1])) for pair in pairs], np.float64)  # (n, 2)

    def score(totals: np.ndarray) -> float:
        return float(100 * totals[0] / max(totals[1], 1))

    name = f"{unit} errors"
    value = score(statistics.sum(0))
    if resamples == 0:
        return MetricScore(name, value)
    return MetricScore(name, value, *interval([score(totals) for totals in resampled_sums(statistics, resamples)]))


def exact_by_length(
    hypotheses: Sequence[str], references: Sequence[str], lengths: Sequence[int], most: int = 10
) -> tuple[Bucket, ...]:
    """Exact match by length of the source, in at most `most` buckets of one round width; empty ones are left out."""
    check_rows(hypotheses, references)
    check_rows(lengths, references)
    shortest, longest = min(lengths) - 1, max(lengths) - 1  # lengths 1 … width are the first bucket
    widths = (digit * 10**power for power in range(19) for digit in (1, 2, 5))
    width = next(width for width in widths if longest // width - shortest // width < most)
    buckets: dict[int, list[bool]] = {}
    for hypothesis, reference, length in zip(hypotheses, references, lengths, strict=True):
        buckets.setdefault((length - 1) // width, []).append(hypothesis == reference)
    return tuple(
        Bucket(max(0, number * width + 1), (number + 1) * width, len(right), 100 * sum(right) / len(right))
        for number, right in sorted(buckets.items())
    )


def confusion(predicted: Sequence[int], truth: Sequence[int], classes: int) -> tuple[tuple[int, ...], ...]:
    """How often each class (row) was predicted as each class (column)."""
    table = [[0] * classes for _ in range(classes)]
    for guess, label in zip(predicted, truth, strict=True):
        table[label][guess] += 1
    return tuple(tuple(row) for row in table)


def perplexity(loss: float) -> float:
    """e^loss, of a loss in nats per token."""
    return math.exp(loss) if loss < 700 else math.inf


def bits_per_character(loss: float, tokens: int, characters: int) -> float:
    """Bits per character of text, those of EOS included: comparable between tokenizers."""
    return loss * tokens / math.log(2) / characters


def check_rows(hypotheses: Sequence[object], references: Sequence[object]) -> None:
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} outputs but {len(references)} references; give one reference for each output"
        )
    if not references:
        raise UserError("nothing to evaluate: 0 references; give at least one pair")
