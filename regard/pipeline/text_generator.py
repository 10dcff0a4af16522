"""Text generation: a language model continues a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from regard.analysis.erasure import erase, words_of
from regard.analysis.trace import ForcedPair, Trace
from regard.analysis.view import SourceWord
from regard.config import SearchSettings
from regard.data.corpus import Example, load_corpus
from regard.data.sources import Source, token_ids
from regard.data.vocabulary import BOS, EOS
from regard.errors import UserError
from regard.evaluation import EvaluationReport, evaluate_language, language_baselines
from regard.inference import ProgressCallback
from regard.pipeline.examples import check_fits
from regard.pipeline.extras import Extras
from regard.pipeline.result import EMPTY, Result
from regard.pipeline.text_model import TextModel

NEW_TOKENS = 200  # that a language model generates, where no limit is set


class TextGenerator(TextModel):
    """A language model: generates the text that follows the given one."""

    def _results(
        self,
        texts: Sequence[str],
        search: SearchSettings,
        progress: ProgressCallback | None,
        prefixes: Sequence[Sequence[int]],
    ) -> list[Result]:
        search = self._limited(search)
        rows = [row for row, text in enumerate(texts) if text]
        given = [token_ids(source) for source in self._sources([texts[row] for row in rows])]
        begun = [[*ids, *prefixes[row]] for row, ids in zip(rows, given, strict=True)]
        results = [EMPTY] * len(texts)
        self.check_short_list(search)
        for index, hypotheses in self.decoding.decode([[] for _ in rows], search, begun, progress):
            results[rows[index]] = self.result(given[index], hypotheses, prefixes[rows[index]])
        return results

    def _growth(self, text: str, search: SearchSettings, prefix: Sequence[int]) -> Iterator[Result]:
        given = token_ids(self._sources([text])[0])
        check_fits(self.model, [], [*given, *prefix])
        for hypothesis in self.decoding.stream([], self._limited(search), [*given, *prefix]):
            yield self.result(given, [hypothesis], prefix)

    @staticmethod
    def _limited(search: SearchSettings) -> SearchSettings:
        return search.model_copy(update={"max_tokens": search.max_tokens or NEW_TOKENS})

    def forced_pair(self, text: str, target: str) -> ForcedPair:
        return self.pair_of_ids(self._sources([text])[0], self.target_codec.encode(target), True)

    def _sources(self, texts: Sequence[str]) -> list[Source]:
        """What a language model reads is text of its one vocabulary."""
        return [
            erase(ids, self.target_codec.tokens(ids), self.changes.hide)
            for ids in self.target_codec.encode_batch(texts)
        ]

    def _words(self, text: str, seen: Trace) -> tuple[SourceWord, ...]:
        """The text that is continued stands among the output tokens."""
        tokens = self.target_codec.tokens(self.target_codec.encode(text))
        return words_of(tokens, seen.output_tokens[: seen.given], self.changes.hide)

    def pair_of_ids(self, source: Source, target_ids: list[int], finished: bool) -> ForcedPair:
        """The text and its continuation are one sequence of target tokens, after an empty source."""
        ids, tokens = [*token_ids(source), *target_ids], self.target_codec.tokens
        target_in, target_out = ([BOS, *ids], [*ids, EOS]) if finished else ([BOS, *ids[:-1]], ids)
        check_fits(self.model, [], target_in[1:])
        labels = tuple(tokens([EOS])), tuple(tokens(target_in)), tuple(tokens(target_out))
        return ForcedPair([], target_in, *labels, target_out, tokens, given=len(source))

    def _report(
        self,
        examples: list[Example],
        search: SearchSettings,
        progress: ProgressCallback | None,
        extras: Extras,
    ) -> EvaluationReport:
        if any(example.source for example in examples):
            raise UserError("this run is a language model: give --reference its text, and no --source")
        forced = self.teacher_forced(examples)
        if forced is None:
            raise UserError(f"a text is longer than the {self.model.max_total} positions of the model; split it")
        bits = self.baselines(examples) if extras.baselines else None
        return evaluate_language(forced, [example.target for example in examples], bits)

    def baselines(self, examples: Sequence[Example]) -> dict[str, float]:
        """Bits per character of gzip and of a character 5-gram, trained on the training texts of the run."""
        train = [example.target for example in load_corpus(self.run.plan.data).train]
        return language_baselines(train, [example.target for example in examples])
