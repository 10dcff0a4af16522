"""A model that names the class of a text."""

from __future__ import annotations

import math

from regard.analysis.trace import Dictation, trace
from regard.config import SearchConfig
from regard.data.corpus import Example
from regard.data.tokenizer import BOS, Labels
from regard.evaluation import Report, evaluate_classifier
from regard.inference import TooLong, classify
from regard.inference.batching import Source
from regard.pipeline.pipeline import Pipeline, Progress
from regard.pipeline.result import NOTHING, Result, no_result


class Classifier(Pipeline):
    """Text to one of several classes, with its probability."""

    def translate_all(self, texts: list[str], search: SearchConfig, progress: Progress | None = None) -> list[Result]:
        given = [row for row, text in enumerate(texts) if text.strip()]
        sources = self.source_tokenizer.encode_batch([texts[row] for row in given])
        results = [NOTHING] * len(texts)
        found = classify(self.model, sources, search.batch_tokens, progress)
        for row, source, probabilities in zip(given, sources, found, strict=True):
            results[row] = self._result(source, probabilities)
        return results

    def dictation(self, text: str, target: str) -> Dictation:
        self._labels.encode(target)  # a class that is not known is refused
        return self._dictation(self.source_tokenizer.encode(text), target)

    def evaluate(self, examples: list[Example], search: SearchConfig, progress: Progress | None = None) -> Report:
        names = self._labels.names
        results = self.translate_all([example.source for example in examples], search, progress)
        known = set(names)
        truth = [self._labels.encode(one.target)[0] if one.target in known else None for one in examples]
        predicted = [self._labels.encode(result.text)[0] if result.probabilities else None for result in results]
        return evaluate_classifier(
            predicted, truth, names, self.forced(examples), sum(result.problem is not None for result in results)
        )

    @property
    def _labels(self) -> Labels:
        assert isinstance(self.run.target_tokenizer, Labels)
        return self.run.target_tokenizer

    def _result(self, source: Source, probabilities: tuple[float, ...] | TooLong) -> Result:
        if isinstance(probabilities, TooLong):
            return no_result(probabilities)
        ranked = sorted(zip(self._labels.names, probabilities, strict=True), key=lambda pair: -pair[1])
        label, probability = ranked[0]
        log_prob = math.log(max(probability, 1e-45))
        return Result(
            text=label,
            score=log_prob,
            tokens=(label,),
            log_prob=log_prob,
            probabilities=dict(ranked),
            tracer=lambda: trace(self.model, self._dictation(source, label)),
        )

    def _dictation(self, source: Source, label: str) -> Dictation:
        self.check_fits(source, [])
        read, tokens = self.reading(source)
        return Dictation(read, [BOS], tokens, ("<s>",), (label,))
