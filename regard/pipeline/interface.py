"""The interface of every trained model: translate, trace, silence heads, evaluate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, overload

from regard.analysis.ablation import changed
from regard.analysis.erasure import erase, words_of
from regard.analysis.trace import ForcedPair, Trace, trace, traces
from regard.analysis.view import ChangeRecord, OutputRecord, SourceWord, TraceRecord
from regard.checkpoint import Run
from regard.config import SearchSettings
from regard.data.batches import Batch
from regard.data.corpus import Example
from regard.data.sources import EncodedImage, Source
from regard.data.vocabulary import EOS
from regard.errors import UserError
from regard.evaluation import EvaluationReport, TeacherForced, teacher_forced
from regard.inference import ProgressCallback
from regard.inference.engine import DecodingModel
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.nn.taps import Replacement, watching
from regard.pipeline.examples import forced_batches, own_examples, parallel_examples
from regard.pipeline.extras import Extras
from regard.pipeline.moves import add_moves
from regard.pipeline.prefix import Prefix, prefix_ids
from regard.pipeline.result import Result
from regard.pipeline.search_settings import search_settings

CHUNK = 1024  # texts of a stream that are decoded together


class Pipeline(ABC):
    """A trained run: text in, results out. `decoding` may hold an ensemble; traces are of the run's own model."""

    def __init__(self, run: Run, decoding: DecodingModel | None = None) -> None:
        self.run = run
        self.decoding = decoding or DecodingModel(run.model, run)
        self.model = self.decoding.model
        self.source_codec, self.target_codec = run.source_codec, run.target_codec
        self.changes = ChangeRecord()
        self.replaced: Mapping[str, Replacement] = {}

    # --- translating ---------------------------------------------------------------------------------------------

    @overload
    def translate(self, text: str, prefix: Prefix = "", **search: Any) -> Result: ...
    @overload
    def translate(self, text: Sequence[str], prefix: Prefix = "", **search: Any) -> list[Result]: ...
    def translate(self, text: str | Sequence[str], prefix: Prefix = "", **search: Any) -> Result | list[Result]:
        """One result a text, in order. `search` sets fields of the recipe's search: beams=5, n_best=3, sample=True …

        `prefix`: what every output must begin with.
        """
        config = self.search_with(**search)
        texts = [text] if isinstance(text, str) else text
        results = self.translate_all(texts, config, prefixes=[prefix] * len(texts))
        return results[0] if isinstance(text, str) else results

    def translate_all(
        self,
        texts: Sequence[str],
        search: SearchSettings | None = None,
        progress: ProgressCallback | None = None,
        prefixes: Sequence[Prefix] | None = None,
    ) -> list[Result]:
        """One result a text, in order; an empty text has an empty result. `search`: without it the recipe's.

        `prefixes`: what the output of each text must begin with, as text or as ids. It is part of the result, but its
        score and log-probability are of what the model added.
        """
        with self._changing():
            return self._results(texts, search or self.search, progress, self._prefix_ids(prefixes, len(texts)))

    def translate_stream(
        self, texts: Iterable[str], search: SearchSettings | None = None, progress: ProgressCallback | None = None
    ) -> Iterator[Result]:
        """The same as an iterator: results come after every `CHUNK` texts, not after all of them."""
        remaining = iter(texts)
        while chunk := list(islice(remaining, CHUNK)):
            yield from self.translate_all(chunk, search, progress)

    @property
    def search(self) -> SearchSettings:
        """The search of the run's recipe."""
        return self.run.plan.search

    def search_with(self, given: SearchSettings | None = None, **fields: Any) -> SearchSettings:
        """The recipe's search with these fields set, or those that are set in `given`.

        `n_best` outputs need as many beams: where the beams are not set they are raised to that.
        """
        return search_settings(self.search, given, fields)

    @abstractmethod
    def _results(
        self,
        texts: Sequence[str],
        search: SearchSettings,
        progress: ProgressCallback | None,
        prefixes: Sequence[Sequence[int]],
    ) -> list[Result]: ...

    def _prefix_ids(self, prefixes: Sequence[Prefix] | None, count: int) -> list[Sequence[int]]:
        """The ids of each prefix."""
        if prefixes is None:
            return [()] * count
        assert len(prefixes) == count, "one prefix for each text"
        return [prefix_ids(prefix, self.target_codec) for prefix in prefixes]

    # --- attention and hidden states -----------------------------------------------------------------------------

    def trace(self, text: str, target: str) -> Trace:
        """Every attention and hidden state of one forward pass with `target` forced."""
        return self._trace(self.forced_pair(text, target))

    def trace_all(self, examples: Sequence[Example], progress: ProgressCallback | None = None) -> list[Trace]:
        """The trace of each example, many in one forward pass."""
        pairs = [self.forced_pair(example.source, example.target) for example in examples]
        with self._changing():
            return traces(self.run.model, pairs, progress)

    def without(self, *heads: str) -> Self:
        """The same pipeline with attentions (`decoder.layers.1.cross_attention`) or heads (`….2`) silenced."""
        return self.changed(silence=heads)

    def changed(self, silence: Sequence[str] = (), uniform: Sequence[str] = (), hide: Sequence[int] = ()) -> Self:
        """The same pipeline with attentions or heads silenced or made uniform, and words of every source left out.

        `hide` counts words from 0; of an image, cells, which are covered. Made of a changed one, its changes end.
        """
        if (silence or uniform) and self.model is not self.run.model:
            raise UserError("an ensemble has no heads of its own to change; load one run alone")
        different = copy(self)
        different.replaced = changed(self.run.model, silence, uniform)
        different.changes = ChangeRecord(tuple(silence), tuple(uniform), tuple(sorted(set(hide))))
        return different

    def moved(
        self,
        permute: Sequence[str] = (),
        seed: int = 1,
        force: Mapping[str, int] | None = None,
        patch: Mapping[str, str] | None = None,
    ) -> Self:
        """The same pipeline, changes included, with more of them: weights given to other keys (`permute`), or all to
        the key at a place (`force`), and states of the encoder taken from another text (`patch`: tap → text)."""
        different = copy(self)
        different.replaced = add_moves(self, permute, seed, force or {}, patch or {})
        return different

    def view(
        self,
        text: str,
        target: str | None = None,
        prefix: Prefix = "",
        search: SearchSettings | None = None,
        first: str | None = None,
    ) -> TraceRecord:
        """What a viewer shows of `text` and its output: of `target` where it is given, else of what is searched for.

        `prefix`: what the output begins with, as text or as ids (`Prediction.id`); search goes on from there, unless
        the last id ends the output.
        `first`: the map to show first. `search`: without it the recipe's; its `n_best` outputs are listed.
        """
        if target is not None and prefix:
            raise UserError("give a target to force or a prefix to go on from, not both")
        if not isinstance(prefix, str) and EOS in prefix[-1:]:
            target = self.target_codec.decode(prefix[:-1])
        if target is not None:
            return self.record(text, self.trace(text, target), first)
        (result,) = self.translate_all([text], search, prefixes=[prefix])
        record = self.record(text, result.trace(), first)
        best = result.alternatives or (result,)
        outputs = tuple(OutputRecord(one.text, one.score, one.log_prob, one.finished) for one in best)
        return replace(record, finished=result.finished, score=result.score, outputs=outputs, text=result.text)

    def record(self, text: str, seen: Trace, first: str | None = None) -> TraceRecord:
        """What a viewer shows of a trace of `text`."""
        names = seen.maps
        if first is not None and first not in names:
            raise UserError(f"no attention is called {first!r}; this model has: {', '.join(names) or 'none'}")
        known = {"source": text, "model": self.run.path.name, "task": self.run.task, "changes": self.changes}
        return replace(seen.record(first), **known, source_words=self._words(text, seen))

    def _words(self, text: str, seen: Trace) -> tuple[SourceWord, ...]:
        """The words of a source, hidden ones included; none of an image."""
        source = self.source_codec.encode(text)
        if isinstance(source, EncodedImage):
            return ()
        return words_of(self._tokens(source), seen.source_tokens[:-1], self.changes.hide)

    def _sources(self, texts: Sequence[str]) -> list[Source]:
        """The texts as the model reads them: without what is hidden."""
        sources = self.source_codec.encode_batch(texts)
        return [erase(source, self._tokens(source), self.changes.hide) for source in sources]

    def _tokens(self, source: Source) -> list[str]:
        """Of a text, without the end of the sentence."""
        return self.source_codec.source_tokens(source)[: len(source)]

    def untrained(self, seed: int = 0) -> Self:
        """The same pipeline with random weights in the same architecture: what is there without training."""
        run = self.run
        shared = run.source_codec is run.target_codec
        sizes = run.source_codec.size, run.target_codec.size
        return type(self)(replace(run, model=fuse(build_model(run.plan.model, *sizes, shared, seed)).eval()))

    @abstractmethod
    def forced_pair(self, text: str, target: str) -> ForcedPair:
        """`text` encoded as a source, and `target` for teacher forcing."""

    def _trace(self, pair: ForcedPair) -> Trace:
        with self._changing():
            return trace(self.run.model, pair)

    def _changing(self) -> AbstractContextManager[object]:
        """Inside this context the attentions chosen by `changed` are silent or uniform."""
        return watching(self.model, self.replaced, record=False) if self.replaced else nullcontext()

    # --- measuring -----------------------------------------------------------------------------------------------

    def evaluate(
        self,
        examples: Sequence[Example],
        search: SearchSettings | None = None,
        progress: ProgressCallback | None = None,
        tokenize: str | None = None,
        baselines: bool = False,
        errors: int = 0,
    ) -> EvaluationReport:
        """How good the model is on these pairs. `search`: without it the recipe's.

        `tokenize`: how BLEU splits words, by a name of sacreBLEU's; without it, by the script of the references.
        `baselines`: also what is reached without learning (evaluation/simple_outputs.py), by the run's training pairs;
        of a language model the bits per character of gzip and a 5-gram. `errors`: how many of the worst outputs are
        listed.
        """
        if errors < 0:
            raise UserError(f"errors = {errors}: give 0 or more")
        if tokenize is not None and self.run.task not in ("translation", "captioning"):
            raise UserError(f"--tokenize {tokenize}: this run is for {self.run.task}, which BLEU does not measure")
        if errors and self.run.task == "continuation":
            raise UserError(f"--errors {errors}: a language model has no outputs to compare; leave it out")
        extras = Extras(tokenize, baselines, errors)
        return self._report(list(examples), search or self.search, progress, extras)

    @abstractmethod
    def _report(
        self,
        examples: list[Example],
        search: SearchSettings,
        progress: ProgressCallback | None,
        extras: Extras,
    ) -> EvaluationReport: ...

    def examples(
        self,
        split: Literal["dev", "test"] = "test",
        source: str | Path | None = None,
        reference: str | Path | None = None,
    ) -> list[Example]:
        """What to evaluate on: the run's own examples, or the lines of two parallel files.

        A language model needs `reference` alone, its text.
        """
        if source is None and reference is None:
            return own_examples(self.run, split)
        return parallel_examples(source, reference, self.run.task)

    def teacher_forced(self, examples: Sequence[Example]) -> TeacherForced | None:
        """Loss and accuracy when each token is predicted from the true ones before it; None: an example is too long."""
        batches = self.batches(examples)
        if batches is None:
            return None
        with self._changing():
            return teacher_forced(self.model, batches)

    def batches(self, examples: Sequence[Example]) -> list[Batch] | None:
        """The examples as batches for teacher forcing; None where one is too long for the model."""
        return forced_batches(self.run, self.model, examples, self.search.batch_tokens)


OfKind = TypeVar("OfKind", bound=Pipeline)


def require(pipeline: Pipeline, kind: type[OfKind], problem: str) -> OfKind:
    """The same pipeline where it is of this kind; else it is refused."""
    if not isinstance(pipeline, kind):
        raise UserError(f"{problem}; this run is for {pipeline.run.task}")
    return pipeline
