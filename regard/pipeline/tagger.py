"""Tagging: a label for each word of a text, with its probability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from regard.analysis.trace import ForcedPair
from regard.config import SearchSettings
from regard.data.corpus import Example
from regard.data.sources import Source
from regard.data.vocabulary import BOS, EOS, SPECIALS
from regard.data.whole_words import WholeWords, words_of
from regard.errors import UserError
from regard.evaluation import EvaluationReport, evaluate_tagger
from regard.evaluation.mistakes import worst_tags
from regard.inference import ProgressCallback, TooLong
from regard.inference.tagging import TagGuess, tag
from regard.pipeline.examples import check_fits
from regard.pipeline.extras import Extras, baseline_scores, tag_scores
from regard.pipeline.interface import Pipeline
from regard.pipeline.result import EMPTY, Result, TaggedWord, no_result


class Tagger(Pipeline):
    """A text of words, parted by spaces, to a tag for each of them."""

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
        tagged = tag(self.run.model, sources, search.batch_tokens, progress)
        for row, source, guesses in zip(rows, sources, tagged, strict=True):
            results[row] = self._result(texts[row], source, guesses)
        return results

    def forced_pair(self, text: str, target: str) -> ForcedPair:
        tags = self.target_codec.tokens(self.target_codec.encode(target))  # refuses an unknown tag
        source = self.source_codec.encode(text)
        if len(tags) != len(source):
            raise UserError(f"{len(source)} words and {len(tags)} tags ({target!r}); give a tag for each word")
        return self._pair(text, source, tags)

    def _report(
        self,
        examples: list[Example],
        search: SearchSettings,
        progress: ProgressCallback | None,
        extras: Extras,
    ) -> EvaluationReport:
        results = self.translate_all([example.source for example in examples], search, progress)
        names = self.target_codec.tokens(range(self.target_codec.size))
        source_codec = self.source_codec
        assert isinstance(source_codec, WholeWords)
        known = [[source_codec.knows(word) for word in words_of(example.source)] for example in examples]
        predicted = [result.text.split() if result.problem is None else None for result in results]
        truth = [words_of(example.target) for example in examples]
        too_long = sum(result.problem is not None for result in results)
        report = evaluate_tagger(predicted, truth, names, known, self.teacher_forced(examples), too_long)
        if extras.errors:
            sources, outputs = [example.source for example in examples], [result.text for result in results]
            references = [" ".join(tags) for tags in truth]
            report = replace(report, mistakes=worst_tags(sources, references, outputs, extras.errors))
        if extras.baselines:
            report = replace(report, baselines=baseline_scores(self.run, examples, tag_scores))
        return report

    def _result(self, text: str, source: Source, guesses: tuple[TagGuess, ...] | TooLong) -> Result:
        if isinstance(guesses, TooLong):
            return no_result(guesses)
        names = self.target_codec.tokens([guess for guess, _ in guesses])
        probabilities = [probability for _, probability in guesses]
        log_prob = sum(math.log(max(probability, 1e-45)) for probability in probabilities)
        return Result(
            text=" ".join(names),
            score=log_prob / max(len(names), 1),
            tokens=tuple(names),
            log_prob=log_prob,
            tags=tuple(map(TaggedWord, words_of(text), names, probabilities)),
            tracer=lambda: self._trace(self._pair(text, source, names)),
        )

    def _pair(self, text: str, source: Source, tags: Sequence[str]) -> ForcedPair:
        """Words as they stand in the text, unknown ones too; a tag is read at the place of its word."""
        check_fits(self.model, source, [])
        first, *others = words_of(text)
        words = (first, *(f" {word}" for word in others), SPECIALS[EOS])
        first_tag, *other_tags = tags
        outputs = (first_tag, *(f" {name}" for name in other_tags))
        return ForcedPair(source, [BOS] * len(tags), words, words[:-1], outputs)
