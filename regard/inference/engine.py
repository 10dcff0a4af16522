"""Which engine decodes: one decision for the command line, Python, evaluation, validation and distillation.

torch             runs every model and every search
ctranslate2       runs Transformers faster (the extra [fast]); greedy outputs are those of torch, beam searches end
                  a little earlier (regard.inference.ctranslate2.decoder)
ctranslate2-int8  the same with weights rounded to 8 bits: faster still, less exact
auto              ctranslate2 where its outputs are those of torch (greedy search over the whole vocabulary) and
                  where enough sources pay for its start; else torch
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from regard.checkpoint import Run
from regard.config import SearchSettings
from regard.config.values import Engine
from regard.data.sources import Source, token_ids
from regard.errors import UserError
from regard.inference.batching import AnyModel, ProgressCallback, TooLong, decode, evaluating
from regard.inference.constrained import constrained_decode
from regard.inference.constraints import Constraints
from regard.inference.ctranslate2.conversion import why_not
from regard.inference.hypothesis import Hypothesis
from regard.inference.incremental.cached_model import CachedInferenceModel
from regard.inference.streaming import stream
from regard.models.seq2seq import Model
from regard.nn.taps import watched

if TYPE_CHECKING:
    from regard.inference.ctranslate2.decoder import FastDecoder

MANY = 32  # sources for which a second engine is worth its start
Decoded = tuple[int, list[Hypothesis] | TooLong]  # the index of a source, and its hypotheses


class DecodingModel:
    """A model and the engines that can decode with it: `engine` names one, or is `auto`.

    `run`: where its settings and its lexicon are, and where a CTranslate2 model is built; without it, torch decodes.
    """

    def __init__(self, model: AnyModel, run: Run | None = None, engine: Engine = "torch", threads: int = 1) -> None:
        self.model = model
        self.engine = engine
        self._run, self._threads = run, threads
        self._incremental = CachedInferenceModel(model)
        self._ctranslate2: FastDecoder | None = None
        self._parameters = list(model.parameters())
        self._version = -1
        self.not_ctranslate2 = "it is given no run" if run is None else why_not(run.plan.model, model)
        if engine not in ("torch", "auto"):  # refused when it is named, not at the first text
            if self.not_ctranslate2 is None:
                self._start_ctranslate2()
            if self.not_ctranslate2 is not None:
                raise UserError(f"--engine {engine}: {self.not_ctranslate2}")

    def decode(
        self,
        sources: Sequence[Source],
        search: SearchSettings,
        prefixes: Sequence[Sequence[int]] | None = None,
        progress: ProgressCallback | None = None,
    ) -> Iterator[Decoded]:
        """The n_best hypotheses of each source, or why there are none; with CTranslate2 in the order they are found.

        Arguments as of `regard.inference.decode`. What CTranslate2 cannot decode is decoded by torch, and so is what
        goes on from a prefix.
        """
        chosen = choose_engine(self, search, len(sources)) if prefixes is None else "torch"
        if chosen != "torch":
            self._start_ctranslate2()
        if chosen == "torch" or self._ctranslate2 is None:
            yield from self._decode_with_torch(sources, search, prefixes, progress)
            return
        texts = [token_ids(source) for source in sources]
        remaining: list[int] = []
        for index, hypotheses in self._ctranslate2.decode(texts, search, progress):
            if hypotheses is None:
                remaining.append(index)
            else:
                yield index, hypotheses
        if remaining:  # torch takes a millisecond to find that there is nothing to do
            for index, hypotheses in self._decode_with_torch([sources[row] for row in remaining], search, None, None):
                yield remaining[index], hypotheses

    def stream(self, source: Source, search: SearchSettings, prefix: Sequence[int] = ()) -> Iterator[Hypothesis]:
        """The growing hypothesis after each token, by torch."""
        yield from stream(self._incremental.model(), source, search, prefix)

    def decode_constrained(
        self,
        sources: Sequence[Source],
        constraints: Sequence[Constraints],
        search: SearchSettings,
        prefixes: Sequence[Sequence[int]] | None = None,
    ) -> list[list[Hypothesis] | TooLong]:
        """By torch, through the whole vocabulary: the n_best hypotheses that meet what is demanded of each."""
        with evaluating(self.model):
            return constrained_decode(self._incremental.model(), sources, constraints, search, prefixes)

    def _decode_with_torch(
        self,
        sources: Sequence[Source],
        search: SearchSettings,
        prefixes: Sequence[Sequence[int]] | None,
        progress: ProgressCallback | None,
    ) -> Iterator[Decoded]:
        lexicon = self._run.lexicon if self._run is not None and search.short_list else None
        with evaluating(self.model):  # the incremental version has a mode of its own
            hypotheses = decode(self._incremental.model(), sources, search, prefixes, progress, lexicon)
        yield from enumerate(hypotheses)

    def _start_ctranslate2(self) -> None:
        """Build the model beside the run and load it, anew after a change of the weights in place.

        Where that fails, `not_ctranslate2` says why.
        """
        version = sum(parameter._version for parameter in self._parameters)  # each change in place adds one
        if version == self._version:
            return
        self._version = version
        from regard.inference.ctranslate2.decoder import FastDecoder

        run = self._run
        assert run is not None and isinstance(self.model, Model)
        precision = "int8" if self.engine == "ctranslate2-int8" else "float32"
        try:
            self._ctranslate2 = FastDecoder(self.model, run.plan.model, run.path, precision, self._threads, run.lexicon)
        except (OSError, RuntimeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            self.not_ctranslate2 = f"no model for it can be built in {run.path} ({why}); take --engine torch"


def choose_engine(
    model: DecodingModel, search: SearchSettings, count: int
) -> Literal["torch", "ctranslate2", "ctranslate2-int8"]:
    """The engine that decodes `count` sources with this search."""
    if search.sample or watched():
        return "torch"  # nothing else draws samples, or has taps
    if model.engine != "auto":
        return model.engine
    equal_outputs = search.beams == 1 and not search.short_list
    return "ctranslate2" if equal_outputs and count >= MANY and model.not_ctranslate2 is None else "torch"
