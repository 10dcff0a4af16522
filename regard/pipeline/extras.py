"""What an evaluation may have beside the scores: baselines that learn nothing, and the worst outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regard.checkpoint import Run
from regard.data.corpus import Example, load_corpus
from regard.errors import UserError
from regard.evaluation import metrics
from regard.evaluation.report import BaselineScore
from regard.evaluation.simple_outputs import simple_outputs

ScoreOutputs = Callable[[Sequence[str], Sequence[str]], dict[str, float]]


@dataclass(frozen=True)
class Extras:
    """`tokenize`: how BLEU splits words; `baselines`: whether they are computed;
    `errors`: how many of the worst outputs are listed."""

    tokenize: str | None = None
    baselines: bool = False
    errors: int = 0


def baseline_scores(run: Run, examples: Sequence[Example], score: ScoreOutputs) -> tuple[BaselineScore, ...]:
    """What each baseline that suits the task reaches, with the training pairs of the run's corpus."""
    corpus = load_corpus(run.plan.data)
    if run.task == "captioning" and corpus.images is None:
        raise UserError(f"--baselines: {corpus.name} has no images")
    references = [example.target for example in examples]
    outputs = simple_outputs(corpus, run.task, examples)
    return tuple(BaselineScore(name, score(texts, references)) for name, texts in outputs.items())


def text_scores(outputs: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Exact match and chrF of texts."""
    exact, chrf = metrics.exact_match(outputs, references), metrics.chrf(outputs, references, resamples=0)
    return {"exact match": exact.value, "chrF": chrf.value}


def class_scores(outputs: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    return {"accuracy": metrics.exact_match(outputs, references).value}


def tag_scores(outputs: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Of words."""
    pairs = [
        pair
        for output, reference in zip(outputs, references, strict=True)
        for pair in zip(output.split(), reference.split(), strict=True)
    ]
    return {"accuracy": metrics.exact_match(*map(list, zip(*pairs, strict=True))).value}
