"""Models that write text: a translator reads a source first, a continuer goes on from the text itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from regard.analysis.trace import Dictation, trace
from regard.checkpoint import LEXICON, Run
from regard.config import SearchConfig
from regard.data.corpus import Example
from regard.data.image_store import Picture
from regard.data.lexicon import Lexicon
from regard.data.tokenizer import BOS, EOS, Tokenizer
from regard.errors import UserError
from regard.evaluation import Report, bleu_tokenizer, evaluate_language, evaluate_translation
from regard.inference import Hypothesis, TooLong, decode
from regard.inference.batching import Source, evaluating
from regard.inference.beam_tree import BeamTree, beam_tree
from regard.inference.ctranslate2.decoder import FastDecoder
from regard.inference.incremental.prepared import Rehearsal
from regard.models.seq2seq import Model
from regard.nn.taps import watched
from regard.pipeline.pipeline import Pipeline, Progress
from regard.pipeline.result import NOTHING, Result, no_result

CONTINUATION = 200  # tokens that a language model adds, where no limit is set


class Writer(Pipeline, ABC):
    """What a search found becomes a result."""

    @property
    def target_tokenizer(self) -> Tokenizer:
        assert isinstance(self.run.target_tokenizer, Tokenizer)
        return self.run.target_tokenizer

    def result(self, given: Source, found: list[Hypothesis] | TooLong) -> Result:
        """`given`: what was read, a source or a beginning."""
        if isinstance(found, TooLong):
            return no_result(found)
        if len(found) == 1:
            return self._one(given, found[0])
        return self._one(given, found[0], tuple(self._one(given, hypothesis) for hypothesis in found))

    def _one(self, given: Source, hypothesis: Hypothesis, alternatives: tuple[Result, ...] = ()) -> Result:
        ids = list(hypothesis.tokens)
        return Result(
            text=self.target_tokenizer.decode(ids),
            score=hypothesis.score,
            tokens=tuple(self.target_tokenizer.tokens(ids)),
            log_prob=hypothesis.log_prob,
            finished=hypothesis.finished,
            alternatives=alternatives,
            tracer=lambda: trace(self.run.model, self.dictation_of(given, ids, hypothesis.finished)),
        )

    def lexicon_for(self, search: SearchConfig) -> Lexicon | None:
        """What a short list is made of, where one is asked for."""
        if search.short_list and self.run.lexicon is None:
            raise UserError(
                f"search.short_list: {self.run.path} has no {LEXICON}, which training makes for translations with a "
                "vocabulary of a thousand entries or more; search with --no-short-list (short_list=False)"
            )
        return self.run.lexicon if search.short_list else None

    @abstractmethod
    def dictation_of(self, given: Source, written: list[int], finished: bool) -> Dictation:
        """Reading `given` and writing `written`, and its end where it was reached."""


class SourceWriter(Writer, ABC):
    """Reads a source first: a text, or a picture."""

    def __init__(self, run: Run, model: Model | None = None) -> None:
        super().__init__(run, model)
        self._rehearsal = Rehearsal(self.model)

    def translate_all(self, texts: list[str], search: SearchConfig, progress: Progress | None = None) -> list[Result]:
        present = [row for row, text in enumerate(texts) if text.strip()]
        sources = self.source_tokenizer.encode_batch([texts[row] for row in present])
        found = self.search_for(sources, search, progress)
        made = {place: self.result(sources[place], each) for place, each in found}  # while the search goes on
        results = [NOTHING] * len(texts)
        for place, row in enumerate(present):
            results[row] = made[place]
        return results

    def evaluate(
        self,
        examples: list[Example],
        search: SearchConfig,
        progress: Progress | None = None,
        tokenize: str | None = None,
    ) -> Report:
        """`tokenize`: how BLEU parts words, by a name of sacreBLEU's; None: by the script of the references."""
        best = search.model_copy(update={"n_best": 1})
        results = self.translate_all([example.source for example in examples], best, progress)
        return self.report(examples, results, tokenize)

    @abstractmethod
    def report(self, examples: list[Example], results: list[Result], tokenize: str | None) -> Report:
        """How good these results for these examples are."""

    def search_for(
        self, sources: Sequence[Source], search: SearchConfig, progress: Progress | None
    ) -> Iterator[tuple[int, list[Hypothesis] | TooLong]]:
        """The place of each source and its hypotheses, in any order."""
        lexicon = self.lexicon_for(search)
        with evaluating(self.model):  # what is made ready of it has a mode of its own
            found = decode(self._rehearsal.model(), sources, search, None, progress, lexicon)
        yield from enumerate(found)

    def dictation(self, text: str, target: str) -> Dictation:
        return self.dictation_of(self.source_tokenizer.encode(text), self.target_tokenizer.encode(target), True)

    def beam_tree(self, text: str, search: SearchConfig) -> BeamTree:
        """Every hypothesis that the search for this source kept, step by step."""
        source = self.source_tokenizer.encode(text)
        self.check_fits(source, [])
        return beam_tree(self.model, source, search)

    def dictation_of(self, given: Source, written: list[int], finished: bool) -> Dictation:
        """Rows of the cross-attention are what was written: each token with what was looked at to write it."""
        self.check_fits(given, written if finished else written[:-1])
        target_in = [BOS, *written] if finished else [BOS, *written[:-1]]
        target_out = [*written, EOS] if finished else written
        read, tokens = self.reading(given)
        outputs = self.target_tokenizer.tokens
        return Dictation(read, target_in, tokens, tuple(outputs(target_in)), tuple(outputs(target_out)))


class Translator(SourceWriter):
    """Source text to target text; `fast` decodes what it can, torch the rest. `model`: an ensemble that writes."""

    def __init__(self, run: Run, fast: FastDecoder | None = None, model: Model | None = None) -> None:
        super().__init__(run, model)
        self.fast = fast

    def search_for(
        self, sources: Sequence[Source], search: SearchConfig, progress: Progress | None
    ) -> Iterator[tuple[int, list[Hypothesis] | TooLong]]:
        if self.fast is None or search.sample or watched():
            yield from super().search_for(sources, search, progress)
            return
        self.lexicon_for(search)
        texts = [source for source in sources if not isinstance(source, Picture)]
        left: list[int] = []
        for place, found in self.fast.decode(texts, search, progress):
            if found is None:
                left.append(place)
            else:
                yield place, found
        if left:  # torch takes a millisecond to find that there is nothing to do
            for place, each in super().search_for([sources[place] for place in left], search, None):
                yield left[place], each

    def report(self, examples: list[Example], results: list[Result], tokenize: str | None) -> Report:
        sources = [example.source for example in examples]
        unread = sum(result.problem is not None for result in results)
        return evaluate_translation(
            [result.text for result in results],
            [example.target for example in examples],
            sources,
            lengths=[len(ids) for ids in self.source_tokenizer.encode_batch(sources)],
            forced=self.forced(examples),
            unfinished=sum(not result.finished for result in results) - unread,
            too_long=unread,
            tokenize=tokenize or bleu_tokenizer([example.target for example in examples]),
        )


class Continuer(Writer):
    """A language model: goes on from the text it is given."""

    def translate_all(self, texts: list[str], search: SearchConfig, progress: Progress | None = None) -> list[Result]:
        search = search.model_copy(update={"max_tokens": search.max_tokens or CONTINUATION})
        present = [row for row, text in enumerate(texts) if text]
        beginnings = self.target_tokenizer.encode_batch([texts[row] for row in present])
        results = [NOTHING] * len(texts)
        lexicon = self.lexicon_for(search)
        found = decode(self.model, [[] for _ in present], search, beginnings, progress, lexicon)
        for row, beginning, each in zip(present, beginnings, found, strict=True):
            results[row] = self.result(beginning, each)
        return results

    def dictation(self, text: str, target: str) -> Dictation:
        return self.dictation_of(self.target_tokenizer.encode(text), self.target_tokenizer.encode(target), True)

    def evaluate(self, examples: list[Example], search: SearchConfig, progress: Progress | None = None) -> Report:
        if any(example.source for example in examples):
            raise UserError("this run is a language model: give --reference its text, and no --source")
        forced = self.forced(examples)
        if forced is None:
            raise UserError(f"a text is longer than the {self.model.max_total} positions of the model; split it")
        return evaluate_language(forced, [example.target for example in examples])

    def dictation_of(self, given: Source, written: list[int], finished: bool) -> Dictation:
        assert not isinstance(given, Picture)
        ids, tokens = [*given, *written], self.target_tokenizer.tokens
        read, told = ([BOS, *ids], [*ids, EOS]) if finished else ([BOS, *ids[:-1]], ids)
        self.check_fits([], read[1:])
        return Dictation([EOS], read, tuple(tokens([EOS])), tuple(tokens(read)), tuple(tokens(told)))
