"""Models that generate text: hypotheses of a search become results that can be traced."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

from regard.analysis.search import tree_record
from regard.analysis.trace import ForcedPair
from regard.analysis.view import TreeRecord
from regard.checkpoint import LEXICON
from regard.config import SearchSettings
from regard.data.corpus import Example
from regard.data.sources import Source
from regard.data.vocabulary import BOS, EOS
from regard.errors import UserError
from regard.evaluation import CaptionReport, EvaluationReport, TranslationReport
from regard.evaluation.calibration import TokenScores
from regard.evaluation.mistakes import worst_texts
from regard.inference import Hypothesis, ProgressCallback, TooLong
from regard.inference.beam_tree import BeamTree, beam_tree
from regard.pipeline.examples import check_fits
from regard.pipeline.extras import Extras, baseline_scores, text_scores
from regard.pipeline.interface import Pipeline
from regard.pipeline.prefix import Prefix, prefix_ids
from regard.pipeline.result import EMPTY, Result, no_result
from regard.pipeline.token_scores import token_scores


class TextModel(Pipeline, ABC):
    """Hypotheses of a search become results."""

    def stream(self, text: str, search: SearchSettings | None = None, prefix: Prefix = "") -> Iterator[Result]:
        """The growing output after each token, by greedy search or as one sample; the last result is the whole.

        `search`: without it the recipe's, with one beam.
        """
        search = search or self.search_with(beams=1, n_best=1)
        if (search.beams > 1 and not search.sample) or search.n_best > 1 or search.short_list:
            raise UserError(
                "a stream has one beam, one output and no shortlist: its tokens are final; give beams=1, n_best=1"
            )
        if not text.strip():
            return
        growth = self._growth(text, search, prefix_ids(prefix, self.target_codec))
        while True:
            with self._changing():  # not what the caller does between two tokens
                result = next(growth, None)
            if result is None:
                return
            yield result

    @abstractmethod
    def _growth(self, text: str, search: SearchSettings, prefix: Sequence[int]) -> Iterator[Result]: ...

    def result(self, source: Source, hypotheses: list[Hypothesis] | TooLong, prefix: Sequence[int] = ()) -> Result:
        """`source`: ids or an image; of a language model, the ids of the text that it continues."""
        if isinstance(hypotheses, TooLong):
            return no_result(hypotheses)
        best, *others = (self._result(source, hypothesis, prefix) for hypothesis in hypotheses)
        return replace(best, alternatives=(best, *others)) if others else best

    def _result(self, source: Source, hypothesis: Hypothesis, prefix: Sequence[int]) -> Result:
        ids = [*prefix, *hypothesis.tokens]
        return Result(
            text=self.target_codec.decode(ids),
            score=hypothesis.score,
            tokens=tuple(self.target_codec.tokens(ids)),
            log_prob=hypothesis.log_prob,
            finished=hypothesis.finished,
            ids=tuple(ids),
            scorer=lambda: (self._token_scores(source, ids, hypothesis.finished),),
            tracer=lambda: self._trace(self.pair_of_ids(source, ids, hypothesis.finished)),
        )

    def _token_scores(self, source: Source, ids: Sequence[int], finished: bool) -> TokenScores:
        with self._changing():
            return token_scores(self.model, source, ids, finished)

    def check_short_list(self, search: SearchSettings) -> None:
        """Shortlists need the lexicon of the run."""
        if search.short_list and self.run.lexicon is None:
            raise UserError(
                f"search.short_list: {self.run.path} has no {LEXICON}, which training makes for translations with a "
                "vocabulary of a thousand entries or more; search with --no-short-list (short_list=False)"
            )

    @abstractmethod
    def pair_of_ids(self, source: Source, target_ids: list[int], finished: bool) -> ForcedPair:
        """A source and its target for teacher forcing. `finished`: the end of the sentence is part of the target."""


class SourceToText(TextModel, ABC):
    """An encoder encodes a source, a text or an image; a decoder generates the target."""

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
        self.check_short_list(search)
        begun = [prefixes[row] for row in rows]
        for index, hypotheses in self.decoding.decode(sources, search, begun if any(begun) else None, progress):
            results[rows[index]] = self.result(sources[index], hypotheses, begun[index])
        return results

    def _growth(self, text: str, search: SearchSettings, prefix: Sequence[int]) -> Iterator[Result]:
        source = self._sources([text])[0]
        check_fits(self.model, source, prefix)
        for hypothesis in self.decoding.stream(source, search, prefix):
            yield self.result(source, [hypothesis], prefix)

    def _report(
        self,
        examples: list[Example],
        search: SearchSettings,
        progress: ProgressCallback | None,
        extras: Extras,
    ) -> EvaluationReport:
        best = search.model_copy(update={"n_best": 1})
        results = self.translate_all([example.source for example in examples], best, progress)
        report = self.report(examples, results, extras.tokenize)
        sources, references = [example.source for example in examples], [example.target for example in examples]
        outputs = [result.text for result in results]
        if extras.errors:
            report = replace(report, mistakes=worst_texts(sources, references, outputs, extras.errors))
        if extras.baselines:
            report = replace(report, baselines=baseline_scores(self.run, examples, text_scores))
        return report

    @abstractmethod
    def report(
        self, examples: list[Example], results: list[Result], tokenize: str | None
    ) -> TranslationReport | CaptionReport:
        """The measures of these results for these examples."""

    def forced_pair(self, text: str, target: str) -> ForcedPair:
        return self.pair_of_ids(self._sources([text])[0], self.target_codec.encode(target), True)

    def pair_of_ids(self, source: Source, target_ids: list[int], finished: bool) -> ForcedPair:
        """Row t of the cross-attention belongs to output token t: the weights with which it was predicted."""
        check_fits(self.model, source, target_ids if finished else target_ids[:-1])
        target_in = [BOS, *target_ids] if finished else [BOS, *target_ids[:-1]]
        target_out = [*target_ids, EOS] if finished else target_ids
        tokens = self.target_codec.tokens
        source_tokens = tuple(self.source_codec.source_tokens(source))
        labels = source_tokens, tuple(tokens(target_in)), tuple(tokens(target_out))
        return ForcedPair(source, target_in, *labels, target_out, tokens)

    def beam_tree(self, text: str, search: SearchSettings | None = None) -> BeamTree:
        """The hypotheses that the beam search for this source kept, step by step. `search`: without it the recipe's."""
        search = search or self.search
        if search.sample:
            raise UserError("a beam tree shows a beam search, and sampling has none; leave --sample (sample=True) out")
        if search.short_list:
            raise UserError("a beam tree shows a search through all tokens; give --no-short-list (short_list=False)")
        if search.beams < 2:
            raise UserError(f"a beam tree needs two beams or more, not {search.beams}; give --beams 3 (beams=3)")
        if not text.strip():
            raise UserError("the text is empty; give a source to search for")
        source = self._sources([text])[0]
        check_fits(self.model, source, [])
        with self._changing():
            return beam_tree(self.model, source, search)

    def view_tree(self, text: str, search: SearchSettings | None = None) -> TreeRecord:
        """The beam tree as a viewer shows it."""
        tree = self.beam_tree(text, search)
        title = f"{text}, {(search or self.search).beams} beams"
        return replace(tree_record(tree, self.target_codec, title), source=text, model=self.run.path.name)
