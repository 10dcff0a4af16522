"""Transformers on CTranslate2 (the extra [fast]): the same weights in a C++ engine made for decoding on a CPU.

Its model is built from ours and kept beside the run. Greedy outputs are those of torch, but for shortlists, whose map
has fewer tokens than torch gives a sentence alone. Its beam search ends a sentence at a fixed number of finished
hypotheses, which with few of them is too early (regard.inference.beam tells why): with the patience given here most
outputs are torch's too. What it cannot take, or with beams does not end, is left to torch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.config import ModelPlan, SearchSettings
from regard.data.lexicon import Lexicon
from regard.data.tokenizer import BOS, EOS, PAD
from regard.errors import UserError
from regard.inference.batching import ProgressCallback, generation_limit, plan_batches, too_long
from regard.inference.ctranslate2.conversion import POSITIONS, Precision, built_model, why_not
from regard.inference.hypothesis import Hypothesis, hypothesis
from regard.models.seq2seq import Model
from regard.threads import limit_threads

# The most of a batch: with fewer of them a step's own price weighs more, with more what a step reads leaves the cache.
SENTENCES: dict[Precision, int] = {"float32": 128, "int8": 96}
HYPOTHESES = 320
AHEAD = 3  # batches under way for each thread: the one it works on, the next, and one for when they end out of turn
PATIENCE = 1.5  # a sentence ends when so many times the beams have finished


@dataclass(frozen=True)
class PendingBatch:
    """A batch under way: its rows, the most tokens that each may get, and the engine's promise for each."""

    rows: list[int]
    limits: list[int]
    promises: list[Any]


class FastDecoder:
    """A built model, loaded. Threads work on batches of their own: many small operations lose at thread barriers."""

    def __init__(
        self,
        model: Model,
        config: ModelPlan,
        folder: Path,
        precision: Precision,
        threads: int,
        lexicon: Lexicon | None = None,
    ) -> None:
        problem = why_not(config, model)
        if problem is not None:
            raise UserError(problem)
        import ctranslate2

        self.model = model
        self._precision: Precision = precision
        self._threads = threads
        self._lexicon = lexicon
        options = {"inter_threads": threads, "intra_threads": 1}
        with limit_threads():  # it would leave torch one
            try:
                built = built_model(model, config, folder, precision, lexicon)
                self._translator = ctranslate2.Translator(str(built), "cpu", **options)
            except RuntimeError:  # what was built before is damaged
                built = built_model(model, config, folder, precision, lexicon, anew=True)
                self._translator = ctranslate2.Translator(str(built), "cpu", **options)

    def decode(
        self, sources: Sequence[Sequence[int]], config: SearchSettings, progress: ProgressCallback | None = None
    ) -> Iterator[tuple[int, list[Hypothesis] | None]]:
        """The row of every source and its n_best hypotheses, as they are found; None: leave it to torch.

        The engine works on while the caller does something with them.
        """
        limits = self._limits(sources, config)
        yield from ((row, None) for row, source in enumerate(sources) if len(source) not in limits)
        cut: list[tuple[int, list[int], Any]] = []
        for pending in self._pending_batches(sources, limits, config):
            for row, limit, promise in zip(pending.rows, pending.limits, pending.promises, strict=True):
                result = promise.result()
                hypotheses = result.hypotheses  # made anew whenever it is read
                if config.beams == 1 and len(hypotheses[0]) > limit:
                    tokens = [int(token) for token in hypotheses[0][:limit]]
                    cut.append((row, tokens, self._again(sources[row], tokens, config)))
                else:
                    yield row, _accepted(hypotheses, result.scores, limit, config)
            if progress is not None:
                progress(len(pending.rows))
        for row, tokens, promise in cut:
            if self._listed(config):
                result = promise.result()
                yield row, _accepted(result.hypotheses, result.scores, len(tokens), config)
            else:  # the engine tells of an end, too
                cut_hypothesis = hypothesis(tokens, promise.result().log_probs[: len(tokens)], config.length_penalty)
                yield row, None if PAD in tokens or BOS in tokens else [cut_hypothesis]

    def _limits(self, sources: Sequence[Sequence[int]], config: SearchSettings) -> dict[int, int]:
        """The most tokens to generate for sources of each length that the engine takes."""
        lengths = {len(source): source for source in sources if 0 < len(source) < POSITIONS}
        return {
            length: generation_limit(self.model, source, 1, config)
            for length, source in lengths.items()
            if too_long(self.model, source) is None
        }

    def _listed(self, config: SearchSettings) -> bool:
        return config.short_list and self._lexicon is not None

    def _pending_batches(
        self, sources: Sequence[Sequence[int]], limits: dict[int, int], config: SearchSettings
    ) -> Iterator[PendingBatch]:
        """All batches, the next ones asked for before one is given: no thread waits for who takes what was found."""
        most = max(1, min(SENTENCES[self._precision], HYPOTHESES // config.beams))
        waiting: deque[PendingBatch] = deque()
        rows = [row for row, source in enumerate(sources) if len(source) in limits]
        lengths = [len(sources[row]) + 1 for row in rows]
        for indices in plan_batches(lengths, config.batch_tokens // config.beams, self._threads, most):
            batch = [rows[index] for index in indices]
            batch_limits = [limits[len(sources[row])] for row in batch]
            waiting.append(
                PendingBatch(
                    batch, batch_limits, self._search([sources[row] for row in batch], max(batch_limits), config)
                )
            )
            if len(waiting) == AHEAD * self._threads:
                yield waiting.popleft()
        yield from waiting

    def _search(self, sources: list[Sequence[int]], limit: int, config: SearchSettings) -> list[Any]:
        return self._translator.translate_batch(
            [_strings(source) for source in sources],
            asynchronous=True,
            beam_size=config.beams,
            patience=PATIENCE if config.beams > 1 else 1.0,
            num_hypotheses=config.n_best,
            length_penalty=config.length_penalty,
            max_decoding_length=min(limit, POSITIONS),
            min_decoding_length=0,
            max_input_length=0,
            use_vmap=self._listed(config),
            return_scores=True,
            return_end_token=True,
        )

    def _again(self, source: Sequence[int], tokens: list[int], config: SearchSettings) -> Any:
        """What went on beyond its own limit (a batch has one for all) is cut there, as torch does: the promise of a
        score for the tokens that are left. With a shortlist, which goes with a search, one of a search alone."""
        if self._listed(config):
            return self._search([source], len(tokens), config)[0]
        targets = [[str(token) for token in tokens]]
        return self._translator.score_batch([_strings(source)], targets, max_input_length=0, asynchronous=True)[0]


def _accepted(
    hypotheses: list[list[str]], scores: list[float], limit: int, config: SearchSettings
) -> list[Hypothesis] | None:
    """What was found if torch would have found it, as far as one can see: ended within the source's own limit, or of
    one beam cut there; and without marks, which we never generate."""
    accepted: list[Hypothesis] = []
    for tokens, score in zip(hypotheses, scores, strict=True):
        ids = tuple(map(int, tokens))
        finished = ids[-1:] == (EOS,)
        ended = len(ids) <= limit if finished else config.beams == 1 and len(ids) == limit
        if not ended or PAD in ids or BOS in ids:
            return None
        total = score * len(ids) ** config.length_penalty
        accepted.append(Hypothesis(ids[:-1] if finished else ids, total, score, (), finished))
    return accepted


def _strings(source: Sequence[int]) -> list[str]:
    return [*map(str, source), str(EOS)]
