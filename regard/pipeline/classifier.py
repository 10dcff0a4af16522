"""Classification: the class of a text or an image, with the probability of every class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from regard.analysis.trace import ForcedPair
from regard.config import SearchSettings
from regard.data.corpus import Example
from regard.data.sources import Source
from regard.data.vocabulary import BOS
from regard.evaluation import EvaluationReport, evaluate_classifier
from regard.evaluation.mistakes import worst_classes
from regard.inference import ProgressCallback, TooLong, classify
from regard.pipeline.examples import check_fits
from regard.pipeline.extras import Extras, baseline_scores, class_scores
from regard.pipeline.interface import Pipeline
from regard.pipeline.result import EMPTY, Result, no_result


class Classifier(Pipeline):
    """A text or an image to one of several classes, with the probability of each."""

    def _results(
        self,
        texts: Sequence[str],
        search: SearchSettings,
        progress: ProgressCallback | None,
        prefixes: Sequence[Sequence[int]],
    ) -> list[Result]:
        rows = [row for row, text in enumerate(texts) if text.strip()]
        sources = self._sources([texts[row] for row in rows])
        results = [EMPTY] * len(texts)
        classified = classify(self.run.model, sources, search.batch_tokens, progress)
        for row, source, probabilities in zip(rows, sources, classified, strict=True):
            results[row] = self._result(source, probabilities)
        return results

    def forced_pair(self, text: str, target: str) -> ForcedPair:
        self.target_codec.encode(target)  # refuses an unknown class
        return self._pair(self._sources([text])[0], target)

    def _report(
        self,
        examples: list[Example],
        search: SearchSettings,
        progress: ProgressCallback | None,
        extras: Extras,
    ) -> EvaluationReport:
        names = self._names
        results = self.translate_all([example.source for example in examples], search, progress)
        known = set(names)
        truth = [self.target_codec.encode(pair.target)[0] if pair.target in known else None for pair in examples]
        predicted = [self.target_codec.encode(result.text)[0] if result.probabilities else None for result in results]
        too_long = sum(result.problem is not None for result in results)
        report = evaluate_classifier(predicted, truth, names, self.teacher_forced(examples), too_long)
        sources, references = [example.source for example in examples], [example.target for example in examples]
        if extras.errors:
            outputs = [result.text for result in results]
            sure = [result.probabilities.get(result.text, 0.0) for result in results]
            report = replace(report, mistakes=worst_classes(sources, references, outputs, sure, extras.errors))
        if extras.baselines:
            report = replace(report, baselines=baseline_scores(self.run, examples, class_scores))
        return report

    @property
    def _names(self) -> list[str]:
        """The names of the classes."""
        return self.target_codec.tokens(range(self.target_codec.size))

    def _result(self, source: Source, probabilities: tuple[float, ...] | TooLong) -> Result:
        if isinstance(probabilities, TooLong):
            return no_result(probabilities)
        ranked = sorted(zip(self._names, probabilities, strict=True), key=lambda pair: -pair[1])
        label, probability = ranked[0]
        log_prob = math.log(max(probability, 1e-45))
        return Result(
            text=label,
            score=log_prob,
            tokens=(label,),
            log_prob=log_prob,
            probabilities=dict(ranked),
            tracer=lambda: self._trace(self._pair(source, label)),
        )

    def _pair(self, source: Source, label: str) -> ForcedPair:
        check_fits(self.model, source, [])
        labels = tuple(self.source_codec.source_tokens(source)), ("<s>",), (label,)
        return ForcedPair(source, [BOS], *labels, self.target_codec.encode(label), self.target_codec.tokens)
