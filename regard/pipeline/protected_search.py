"""Translating with promises: placeholders come out as they went in, and a glossary's terms appear.

The engine searches as it always does. Only where its output breaks a promise, a constrained search by torch takes its
place; where the vocabulary has no symbol for a placeholder, the source is translated without it and the attention
tells where it belongs. What is still not right says so in `Result.review`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import numpy as np

from regard.analysis.projection import WordAlignment, project
from regard.config import SearchSettings
from regard.data.codecs import symbols_of
from regard.data.glossary import Glossary, Term, TermUse, stands_in
from regard.data.masking import PlaceholderSymbols
from regard.data.numbers import missing_numbers
from regard.data.sentencepiece import SentencePieceTokenizer
from regard.data.sources import Source
from regard.data.tokenizer import Tokenizer
from regard.inference import Hypothesis, ProgressCallback, TooLong
from regard.inference.constraints import Constraints, Phrase
from regard.pipeline.protection import (
    ATTEMPTS,
    ProtectedText,
    SourceMessage,
    check_placeholders,
    constraints_of,
    cut_added,
    protect,
)
from regard.pipeline.result import EMPTY, Result
from regard.pipeline.text_model import SourceToText


@dataclass(frozen=True)
class ProtectedSegment:
    """A sentence in one attempt, with all that its output must hold."""

    row: int
    text: str  # of the user
    protected: ProtectedText
    source: Source
    symbols: Constraints
    terms: tuple[Term, ...]
    prefix: Sequence[int]


class ProtectedSearch:
    """Searches for one model; made anew for each call, it only keeps what it looked up."""

    def __init__(
        self, model: SourceToText, encode: Callable[[Sequence[str]], Sequence[Source]], glossary: Glossary | None
    ) -> None:
        assert isinstance(model.target_codec, Tokenizer | SentencePieceTokenizer)
        self._model, self._encode, self._glossary = model, encode, glossary
        self._target = model.target_codec
        self._symbols = symbols_of(model.source_codec, model.target_codec) or PlaceholderSymbols()

    def results(
        self,
        texts: Sequence[str],
        search: SearchSettings,
        progress: ProgressCallback | None,
        prefixes: Sequence[Sequence[int]],
    ) -> list[Result]:
        """One result a text. A message with choices is translated branch by branch."""
        messages = [SourceMessage.of(text) if text.strip() else SourceMessage((text,)) for text in texts]
        sentences = [sentence for message in messages for sentence in message.sentences]
        begun = [prefix for message, prefix in zip(messages, prefixes, strict=True) for _ in message.sentences]
        remaining = iter(self._sentences(sentences, search, progress, begun))
        results = []
        for text, message in zip(texts, messages, strict=True):
            own = [next(remaining) for _ in message.sentences]
            results.append(own[0] if message.message is None else _of_message(message, own))
            if message.problem:
                results[-1] = replace(results[-1], review=message.problem)
            missing = missing_numbers(text, results[-1].text)
            results[-1] = replace(results[-1], missing_numbers=missing) if missing else results[-1]
        return results

    def _sentences(
        self,
        texts: Sequence[str],
        search: SearchSettings,
        progress: ProgressCallback | None,
        prefixes: Sequence[Sequence[int]],
    ) -> list[Result]:
        results = [EMPTY] * len(texts)
        rows = [row for row, text in enumerate(texts) if text.strip()]
        for taken in ATTEMPTS:
            protected = {row: protect(texts[row], self._symbols, taken) for row in rows}
            attempt = {row: text for row, text in protected.items() if text is not None}
            for row, result in self._attempt(attempt, texts, search, progress, prefixes).items():
                results[row] = result
            rows = [row for row in rows if results[row].review]
            progress = None  # it has counted them all
            if not rows:
                break
        return results

    def _attempt(
        self,
        protected: Mapping[int, ProtectedText],
        texts: Sequence[str],
        search: SearchSettings,
        progress: ProgressCallback | None,
        prefixes: Sequence[Sequence[int]],
    ) -> dict[int, Result]:
        """The result of each of these rows, which may need a review."""
        segments: list[ProtectedSegment] = []
        sources = self._encode([text.masked.text for text in protected.values()])
        for (row, text), source in zip(protected.items(), sources, strict=True):
            terms = tuple(dict.fromkeys(self._glossary.find(texts[row]))) if self._glossary else ()
            symbols = constraints_of(text.masked, self._target)
            segments.append(ProtectedSegment(row, texts[row], text, source, symbols, terms, prefixes[row]))
        results: dict[int, Result] = {}
        broken: list[tuple[ProtectedSegment, list[Hypothesis]]] = []
        begun = [segment.prefix for segment in segments]
        decoded = self._model.decoding.decode(sources, search, begun if any(begun) else None, progress)
        for index, hypotheses in decoded if segments else ():
            segment = segments[index]
            if isinstance(hypotheses, TooLong):
                results[segment.row] = self._model.result(segment.source, hypotheses)
                continue
            kept = [one for one in hypotheses if self._keeps(segment, one)]
            if len(kept) == len(hypotheses) or (kept and search.sample):
                results[segment.row] = self._result(segment, kept)
            else:
                broken.append((segment, hypotheses))
        return results | self._mended(broken, search)

    def _mended(
        self, broken: Sequence[tuple[ProtectedSegment, list[Hypothesis]]], search: SearchSettings
    ) -> dict[int, Result]:
        """Constrained search for what broke a promise. Where it finds nothing the first search's output stays, for a
        person to look at."""
        segments = [segment for segment, _ in broken]
        found = self._model.decoding.decode_constrained(
            [segment.source for segment in segments],
            [self._constraints(segment) for segment in segments],
            search,
            [segment.prefix for segment in segments],
        )
        results = {}
        for (segment, first), mended in zip(broken, found, strict=True):
            hypotheses = mended if not isinstance(mended, TooLong) and mended else first
            alone = self._target.decode([*segment.prefix, *first[0].tokens])
            results[segment.row] = self._result(segment, hypotheses, alone)
        return results

    def _keeps(self, segment: ProtectedSegment, hypothesis: Hypothesis) -> bool:
        ids = [*segment.prefix, *hypothesis.tokens]
        if segment.symbols and not segment.symbols.holds_symbols(ids):
            return False
        if not segment.terms:
            return True
        output = segment.protected.masked.restore(self._target.decode(ids))
        return all(stands_in(term.target, output) for term in segment.terms)

    def _constraints(self, segment: ProtectedSegment) -> Constraints:
        if not segment.terms:
            return segment.symbols
        phrases = tuple(self._phrase(term, segment.text) for term in segment.terms)
        word_ends, word_goes_on = self._word_borders
        return replace(segment.symbols, phrases=phrases, word_ends=word_ends, word_goes_on=word_goes_on)

    def _phrase(self, term: Term, text: str) -> Phrase:
        """The term's translation after a space or without one, also with a capital where its source has one."""
        forms = [term.target]
        at = text.casefold().find(term.source.casefold())
        if text[at : at + 1].isupper() and not term.source[:1].isupper():
            forms.append(term.target[:1].upper() + term.target[1:])
        spaced, glued = ([tuple(self._target.encode(space + form)) for form in forms] for space in (" ", ""))
        return Phrase(tuple(spaced), tuple(glued), bounded=term.target[-1:].isalnum())

    @cached_property
    def _word_borders(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each token of the vocabulary: whether a word may begin after it without a space, and whether it goes on
        with the word before it."""
        tokens = self._target.tokens(range(self._target.size))
        symbols = set(self._target.placeholder_ids.values())
        ends = [i in symbols or not (token[-1:].isalnum() or token.startswith("<0x")) for i, token in enumerate(tokens)]
        goes_on = [
            i not in symbols and (token[:1].isalnum() or token.startswith("<0x")) for i, token in enumerate(tokens)
        ]
        return np.array(ends), np.array(goes_on)

    def _result(self, segment: ProtectedSegment, hypotheses: list[Hypothesis], alone: str | None = None) -> Result:
        """`alone`: the output of the model without constraints, where these hypotheses take its place."""
        result = self._model.result(segment.source, hypotheses, segment.prefix)
        if not result.alternatives:
            return self._restored(segment, result, alone)
        best, *others = (self._restored(segment, one, alone) for one in result.alternatives)
        return replace(best, alternatives=(best, *others))

    def _restored(self, segment: ProtectedSegment, result: Result, alone: str | None) -> Result:
        """The result with the source's placeholders, and what is wrong with it."""
        output = result.text
        if segment.protected.removed:
            output = self._projected(segment, result)
        output = segment.protected.masked.restore(output)
        differ = check_placeholders(segment.text, output)
        terms = tuple(
            TermUse(
                term.source,
                term.target,
                kept := stands_in(term.target, output),
                forced=kept and alone is not None and not stands_in(term.target, alone),
            )
            for term in segment.terms
        )
        if output == result.text and not differ and not terms:
            return result
        return replace(result, text=output, review=str(differ) if differ else None, terms=terms)

    def _projected(self, segment: ProtectedSegment, result: Result) -> str:
        """The output with what was removed; without placeholders that the model wrote of its own accord."""
        masked = segment.protected.masked.text
        output, moved = cut_added(result.text, masked)
        return project(output, masked, segment.protected.removed, self._alignment(masked, output, moved, result))

    def _alignment(self, masked: str, output: str, moved: Sequence[int], result: Result) -> WordAlignment:
        """`moved`: where each character of the result's text is in the output."""
        trace = result.trace() if result.ids else None
        names = trace.source_attentions if trace else []
        if trace is None or not names:
            return WordAlignment.diagonal(masked, output)
        weights = trace.source_map(names[-1]).mean().weights[0].numpy()  # (T, S)
        ends = [len(self._target.decode(result.ids[:end])) for end in range(len(result.ids) + 1)]
        lengths = [moved[min(end, len(moved) - 1)] for end in ends]  # half a character is decoded to one of its own
        outputs = list(zip(lengths, accumulate(lengths[1:], max), strict=False))
        sources = list(self._model.source_codec.offsets(masked))
        return WordAlignment.of(masked, output, sources, outputs, weights[: len(outputs), : len(sources)])


def _of_message(message: SourceMessage, results: Sequence[Result]) -> Result:
    """The results of all branches as one: it is as good as its worst."""
    worst = min(results, key=lambda result: result.score)
    problem = next((result.problem for result in results if result.problem), None)
    reviews = dict.fromkeys(result.review for result in results if result.review)
    return Result(
        text="" if problem else message.assemble([result.text for result in results]),
        score=worst.score,
        tokens=worst.tokens,
        log_prob=worst.log_prob,
        finished=all(result.finished for result in results),
        problem=problem,
        review="; ".join(reviews) or None,
        terms=tuple(dict.fromkeys(term for result in results for term in result.terms)),
        ids=worst.ids,
        scorer=lambda: tuple(score for result in results if result.scorer for score in result.scorer()),
        tracer=worst.tracer,
    )
