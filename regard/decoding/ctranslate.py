"""Transformers on CTranslate2 (the extra [fast]): the same weights in a C++ engine made for decoding on a CPU.

Its model is built from ours and kept beside the run. Greedy outputs are those of torch. Its beam search ends a sentence
at a fixed number of finished hypotheses, which with few of them is too early (regard.decoding.beam tells why): with the
patience given here most outputs are torch's too. What it cannot take, or with beams does not end, is left to torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.config import ModelConfig, SearchConfig
from regard.data.lexicon import Lexicon
from regard.data.tokenizer import BOS, EOS, PAD
from regard.decoding.conversion import POSITIONS, Precision, built_model, why_not
from regard.decoding.decode import Progress, generation_limit, plan_batches, too_long
from regard.decoding.hypothesis import Hypothesis
from regard.errors import UserError
from regard.models.seq2seq import Model

TURNS, SMALLEST = 8, 256  # batches that a thread gets of what is decoded at a time; padded tokens of a small one
PATIENCE = 2.0  # a sentence ends when so many times the beams have finished


class FastDecoder:
    """A built model, loaded. Threads work on batches of their own: many small operations lose at thread barriers."""

    def __init__(
        self,
        model: Model,
        config: ModelConfig,
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
        self._threads = threads
        self._lexicon = lexicon
        options = {"inter_threads": threads, "intra_threads": 1}
        try:
            built = built_model(model, config, folder, precision, lexicon)
            self._translator = ctranslate2.Translator(str(built), "cpu", **options)
        except RuntimeError:  # what was built before is damaged
            built = built_model(model, config, folder, precision, lexicon, anew=True)
            self._translator = ctranslate2.Translator(str(built), "cpu", **options)

    def decode(
        self, sources: Sequence[Sequence[int]], config: SearchConfig, progress: Progress | None = None
    ) -> list[list[Hypothesis] | None]:
        """The n_best hypotheses of each source in input order; None: leave it to torch."""
        results: list[list[Hypothesis] | None] = [None] * len(sources)
        rows = [row for row, source in enumerate(sources) if self._takes(source)]
        size = self._batch_size([len(sources[row]) + 1 for row in rows], config)
        for places in plan_batches([len(sources[row]) + 1 for row in rows], self._threads * TURNS * size):
            chosen = [rows[place] for place in places]
            for row, found in zip(chosen, self._search([sources[row] for row in chosen], config, size), strict=True):
                results[row] = found if self._accepts(sources[row], found, config) else None
            if config.beams == 1:
                self._cut(sources, [row for row in chosen if results[row] is None], config, size, results)
            if progress is not None:
                progress(len(chosen))
        return results

    def _batch_size(self, lengths: Sequence[int], config: SearchConfig) -> int:
        """Padded tokens that are decoded together: what was asked for, but some turns for every thread."""
        return min(max(sum(lengths) // (self._threads * TURNS), SMALLEST), max(1, config.batch_tokens // config.beams))

    def _accepts(self, source: Sequence[int], found: list[Hypothesis], config: SearchConfig) -> bool:
        """Whether torch would have found it, as far as one can see: ended within the source's own limit (a batch has
        one for all), or of one beam cut there; and without marks, which we never generate."""
        limit = generation_limit(self.model, source, 1, config)
        whole = all(one.finished and len(one.tokens) < limit for one in found)
        cut = config.beams == 1 and not found[0].finished and len(found[0].tokens) == limit
        return (whole or cut) and not any({PAD, BOS} & set(one.tokens) for one in found)

    def _cut(
        self,
        sources: Sequence[Sequence[int]],
        rows: list[int],
        config: SearchConfig,
        size: int,
        results: list[list[Hypothesis] | None],
    ) -> None:
        """Search again, those of one limit together: what went on beyond its own is cut there, as torch does."""
        by_limit: dict[int, list[int]] = {}
        for row in rows:
            by_limit.setdefault(generation_limit(self.model, sources[row], 1, config), []).append(row)
        for alike in by_limit.values():
            for row, found in zip(alike, self._search([sources[row] for row in alike], config, size), strict=True):
                results[row] = found if self._accepts(sources[row], found, config) else None

    def _takes(self, source: Sequence[int]) -> bool:
        return too_long(self.model, source) is None and len(source) < POSITIONS and len(source) > 0

    def _search(self, sources: list[Sequence[int]], config: SearchConfig, size: int) -> list[list[Hypothesis]]:
        limit = max(generation_limit(self.model, source, 1, config) for source in sources)
        found = self._translator.translate_batch(
            [[*map(str, source), str(EOS)] for source in sources],
            max_batch_size=size,
            batch_type="tokens",
            beam_size=config.beams,
            patience=PATIENCE if config.beams > 1 else 1.0,
            num_hypotheses=config.n_best,
            length_penalty=config.length_penalty,
            max_decoding_length=min(limit, POSITIONS),
            min_decoding_length=0,
            max_input_length=0,
            use_vmap=config.short_list and self._lexicon is not None,
            return_scores=True,
            return_end_token=True,
        )
        return [
            [_hypothesis(tokens, score, config) for tokens, score in zip(one.hypotheses, one.scores, strict=True)]
            for one in found
        ]


def _hypothesis(tokens: list[str], score: float, config: SearchConfig) -> Hypothesis:
    ids = [int(token) for token in tokens]
    finished = bool(ids) and ids[-1] == EOS
    total = score * len(ids) ** config.length_penalty
    return Hypothesis(tuple(ids[:-1] if finished else ids), total, score, (), finished)
