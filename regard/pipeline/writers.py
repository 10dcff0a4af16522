"""Models that write text: a translator reads a source first, a continuer goes on from the text itself."""

from __future__ import annotations

from abc import ABC, abstractmethod

from regard.analysis.trace import Dictation, trace
from regard.config import SearchConfig
from regard.data.corpus import Example
from regard.data.tokenizer import BOS, EOS, Tokenizer
from regard.decoding import Hypothesis, TooLong, decode
from regard.decoding.tree import BeamTree, beam_tree
from regard.errors import UserError
from regard.evaluation import Report, bleu_tokenizer, evaluate_language, evaluate_translation
from regard.pipeline.contract import Pipeline, Progress
from regard.pipeline.result import NOTHING, Result, no_result

CONTINUATION = 200  # tokens that a language model adds, where no limit is set


class Writer(Pipeline, ABC):
    """What a search found becomes a result."""

    @property
    def target_tokenizer(self) -> Tokenizer:
        assert isinstance(self.run.target_tokenizer, Tokenizer)
        return self.run.target_tokenizer

    def result(self, given: list[int], found: list[Hypothesis] | TooLong) -> Result:
        """`given`: the ids that were read, a source or a beginning."""
        if isinstance(found, TooLong):
            return no_result(found)
        each = tuple(self._one(given, hypothesis) for hypothesis in found)
        return each[0] if len(each) == 1 else self._one(given, found[0], each)

    def _one(self, given: list[int], hypothesis: Hypothesis, alternatives: tuple[Result, ...] = ()) -> Result:
        ids = list(hypothesis.tokens)
        return Result(
            text=self.target_tokenizer.decode(ids),
            score=hypothesis.score,
            tokens=tuple(self.target_tokenizer.tokens(ids)),
            log_prob=hypothesis.log_prob,
            finished=hypothesis.finished,
            alternatives=alternatives,
            tracer=lambda: trace(self.model, self.dictation_of(given, ids, hypothesis.finished)),
        )

    @abstractmethod
    def dictation_of(self, given: list[int], written: list[int], finished: bool) -> Dictation:
        """Reading `given` and writing `written`, and its end where it was reached."""


class Translator(Writer):
    """Source text to target text."""

    def translate_all(self, texts: list[str], search: SearchConfig, progress: Progress | None = None) -> list[Result]:
        present = [row for row, text in enumerate(texts) if text.strip()]
        sources = self.source_tokenizer.encode_batch([texts[row] for row in present])
        results = [NOTHING] * len(texts)
        found = decode(self.model, sources, search, None, progress)
        for row, source, each in zip(present, sources, found, strict=True):
            results[row] = self.result(source, each)
        return results

    def dictation(self, text: str, target: str) -> Dictation:
        return self.dictation_of(self.source_tokenizer.encode(text), self.target_tokenizer.encode(target), True)

    def beam_tree(self, text: str, search: SearchConfig) -> BeamTree:
        """Every hypothesis that the search for this text kept, step by step."""
        source = self.source_tokenizer.encode(text)
        self.check_fits(source, [])
        return beam_tree(self.model, source, search)

    def evaluate(self, examples: list[Example], search: SearchConfig, progress: Progress | None = None) -> Report:
        sources = [example.source for example in examples]
        results = self.translate_all(sources, search.model_copy(update={"n_best": 1}), progress)
        unread = sum(result.problem is not None for result in results)
        return evaluate_translation(
            [result.text for result in results],
            [example.target for example in examples],
            sources,
            lengths=[len(ids) for ids in self.source_tokenizer.encode_batch(sources)],
            forced=self.forced(examples),
            unfinished=sum(not result.finished for result in results) - unread,
            too_long=unread,
            tokenize=bleu_tokenizer([example.target for example in examples]),
        )

    def dictation_of(self, given: list[int], written: list[int], finished: bool) -> Dictation:
        """Rows of the cross-attention are what was written: each token with what was looked at to write it."""
        self.check_fits(given, written if finished else written[:-1])
        target_in = [BOS, *written] if finished else [BOS, *written[:-1]]
        target_out = [*written, EOS] if finished else written
        return Dictation(
            [*given, EOS],
            target_in,
            tuple(self.source_tokenizer.tokens([*given, EOS])),
            tuple(self.target_tokenizer.tokens(target_in)),
            tuple(self.target_tokenizer.tokens(target_out)),
        )


class Continuer(Writer):
    """A language model: goes on from the text it is given."""

    def translate_all(self, texts: list[str], search: SearchConfig, progress: Progress | None = None) -> list[Result]:
        search = search.model_copy(update={"max_tokens": search.max_tokens or CONTINUATION})
        present = [row for row, text in enumerate(texts) if text]
        beginnings = self.source_tokenizer.encode_batch([texts[row] for row in present])
        results = [NOTHING] * len(texts)
        found = decode(self.model, [[] for _ in present], search, beginnings, progress)
        for row, beginning, each in zip(present, beginnings, found, strict=True):
            results[row] = self.result(beginning, each)
        return results

    def dictation(self, text: str, target: str) -> Dictation:
        return self.dictation_of(self.source_tokenizer.encode(text), self.source_tokenizer.encode(target), True)

    def evaluate(self, examples: list[Example], search: SearchConfig, progress: Progress | None = None) -> Report:
        if any(example.source for example in examples):
            raise UserError("this run is a language model: give --reference its text, and no --source")
        forced = self.forced(examples)
        if forced is None:
            raise UserError(f"a text is longer than the {self.model.max_total} positions of the model; split it")
        return evaluate_language(forced, [example.target for example in examples])

    def dictation_of(self, given: list[int], written: list[int], finished: bool) -> Dictation:
        ids, tokens = [*given, *written], self.source_tokenizer.tokens
        read, told = ([BOS, *ids], [*ids, EOS]) if finished else ([BOS, *ids[:-1]], ids)
        self.check_fits([], read[1:])
        return Dictation([EOS], read, tuple(tokens([EOS])), tuple(tokens(read)), tuple(tokens(told)))
