"""Models that generate text: hypotheses of a search become results that can be traced."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
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
from regard.evaluation import EvaluationReport
from regard.inference import Hypothesis, ProgressCallback, TooLong
from regard.inference.beam_tree import BeamTree, beam_tree
from regard.inference.engine import Decoded
from regard.pipeline.examples import check_fits
from regard.pipeline.interface import Pipeline
from regard.pipeline.result import EMPTY, Result, no_result


class TextModel(Pipeline, ABC):
    """Hypotheses of a search become results."""

    def result(self, source: Source, hypotheses: list[Hypothesis] | TooLong) -> Result:
        """`source`: ids or an image; of a language model, the ids of the text that it continues."""
        if isinstance(hypotheses, TooLong):
            return no_result(hypotheses)
        best, *others = hypotheses
        alternatives = tuple(self._result(source, hypothesis) for hypothesis in hypotheses) if others else ()
        return self._result(source, best, alternatives)

    def _result(self, source: Source, hypothesis: Hypothesis, alternatives: tuple[Result, ...] = ()) -> Result:
        ids = list(hypothesis.tokens)
        return Result(
            text=self.target_codec.decode(ids),
            score=hypothesis.score,
            tokens=tuple(self.target_codec.tokens(ids)),
            log_prob=hypothesis.log_prob,
            finished=hypothesis.finished,
            alternatives=alternatives,
            tracer=lambda: self._trace(self.pair_of_ids(source, ids, hypothesis.finished)),
        )

    def go_on(self, text: str, prefix: Sequence[int], search: SearchSettings | None = None) -> Result:
        search = search or self.search
        if not prefix:
            return self.translate_all([text], search)[0]
        if not text.strip():
            raise UserError("the text is empty; give a source to go on from")
        wrong = next((token for token in prefix if not BOS < token < self.target_codec.size), None)
        if wrong is not None or EOS in prefix[:-1]:
            raise UserError(f"prefix: {wrong if wrong is not None else EOS} is no token that an output can begin with")
        self.check_short_list(search)
        source = self._sources([text])[0]
        with self._changing():
            return self.result(source, self._continuations(source, list(prefix), search))

    def _continuations(self, source: Source, prefix: list[int], search: SearchSettings) -> list[Hypothesis] | TooLong:
        """Hypotheses that begin with the prefix; their log-probabilities are those of what follows it."""
        if prefix[-1] == EOS:
            return [Hypothesis(tuple(prefix[:-1]), 0.0, 0.0, (), finished=True)]
        ((_, hypotheses),) = self._decoded(source, prefix, search)
        if isinstance(hypotheses, TooLong):
            return hypotheses
        return [replace(hypothesis, tokens=(*prefix, *hypothesis.tokens)) for hypothesis in hypotheses]

    @abstractmethod
    def _decoded(self, source: Source, prefix: Sequence[int], search: SearchSettings) -> Iterable[Decoded]:
        """One source, decoded on from a prefix that is not repeated in the hypotheses."""

    def check_short_list(self, search: SearchSettings) -> None:
        """Short lists need the lexicon of the run."""
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

    def _results(self, texts: Sequence[str], search: SearchSettings, progress: ProgressCallback | None) -> list[Result]:
        rows = [row for row, text in enumerate(texts) if text.strip()]
        sources = self._sources([texts[row] for row in rows])
        results = [EMPTY] * len(texts)
        self.check_short_list(search)
        for index, hypotheses in self.decoding.decode(sources, search, progress=progress):
            results[rows[index]] = self.result(sources[index], hypotheses)
        return results

    def _decoded(self, source: Source, prefix: Sequence[int], search: SearchSettings) -> Iterable[Decoded]:
        return self.decoding.decode([source], search, [prefix])

    def _report(
        self,
        examples: list[Example],
        search: SearchSettings,
        progress: ProgressCallback | None,
        tokenize: str | None,
        baselines: bool,
    ) -> EvaluationReport:
        best = search.model_copy(update={"n_best": 1})
        results = self.translate_all([example.source for example in examples], best, progress)
        return self.report(examples, results, tokenize)

    @abstractmethod
    def report(self, examples: list[Example], results: list[Result], tokenize: str | None) -> EvaluationReport:
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
