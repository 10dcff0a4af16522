"""Translation: source text to target text, word alignments, alignment error rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.analysis.ablation import attention_heads
from regard.analysis.alignment import (
    AlignmentReport,
    Gold,
    check_links,
    measure_alignments,
    read_pharaoh,
    true_links,
)
from regard.analysis.trace import looking_at_source
from regard.checkpoint import Run
from regard.config import SearchSettings
from regard.data.corpus import Example
from regard.data.embedded.truth import truths
from regard.data.sources import Source, token_ids
from regard.errors import UserError
from regard.evaluation import Report, bleu_tokenizer, evaluate_translation
from regard.inference import Hypothesis, TooLong
from regard.inference.ctranslate2.decoder import FastDecoder
from regard.models.seq2seq import Model
from regard.nn.taps import watched
from regard.pipeline.interface import Progress
from regard.pipeline.result import Result
from regard.pipeline.text_model import SourceToText


class Translator(SourceToText):
    """Source text to target text; `fast` decodes what it can, torch the rest. `model`: an ensemble that decodes."""

    def __init__(self, run: Run, fast: FastDecoder | None = None, model: Model | None = None) -> None:
        super().__init__(run, model)
        self.fast = fast

    def search_for(
        self, sources: Sequence[Source], search: SearchSettings, progress: Progress | None
    ) -> Iterator[tuple[int, list[Hypothesis] | TooLong]]:
        if self.fast is None or search.sample or watched():
            yield from super().search_for(sources, search, progress)
            return
        self.lexicon_for(search)
        texts = [token_ids(source) for source in sources]
        left: list[int] = []
        for index, hypotheses in self.fast.decode(texts, search, progress):
            if hypotheses is None:
                left.append(index)
            else:
                yield index, hypotheses
        if left:  # torch takes a millisecond to find that there is nothing to do
            for index, hypotheses in super().search_for([sources[row] for row in left], search, None):
                yield left[index], hypotheses

    def report(self, examples: list[Example], results: list[Result], tokenize: str | None) -> Report:
        sources = [example.source for example in examples]
        unread = sum(result.problem is not None for result in results)
        return evaluate_translation(
            [result.text for result in results],
            [example.target for example in examples],
            sources,
            lengths=[len(ids) for ids in self.source_codec.encode_batch(sources)],
            forced=self.teacher_forced(examples),
            unfinished=sum(not result.finished for result in results) - unread,
            too_long=unread,
            tokenize=tokenize or bleu_tokenizer([example.target for example in examples]),
        )

    def alignment_attention(self, name: str | None = None) -> str:
        """The attention that alignments are read from: the named one, or the last that attends to the source."""
        known = looking_at_source(attention_heads(self.run.model), hasattr(self.run.model, "encoder"))
        if not known:
            raise UserError(f"{self.run.path} has no attention to the source, so there is nothing to align by")
        if name is not None and name not in known:
            raise UserError(
                f"--attention {name}: no attention to the source has this name; there are {', '.join(known)}"
            )
        return name or known[-1]

    def evaluate_alignments(
        self, examples: Sequence[Example], gold: str | Path, progress: Progress | None = None
    ) -> AlignmentReport:
        """The alignment error rate of every attention and head under teacher forcing.

        `gold`: a file in Pharaoh format, or `corpus`, where a corpus knows its own alignments (dates).
        """
        links = self._corpus_links(examples) if gold == "corpus" else _file_links(gold, examples)
        return measure_alignments(self.trace_all(examples, progress), links, examples)

    def _corpus_links(self, examples: Sequence[Example]) -> list[Gold]:
        known = truths(self.run.config.data)
        unknown = next((pair for pair in examples if pair not in known or not known[pair].aligned), None)
        if unknown is not None:
            why = f"{unknown.source!r} is not of its dev or test set" if known else "only dates has true alignments"
            raise UserError(f"--alignments corpus: {why}; give a file in Pharaoh format")
        return [true_links(example, known[example]) for example in examples]


def _file_links(path: str | Path, examples: Sequence[Example]) -> list[Gold]:
    links = read_pharaoh(path)
    if len(links) != len(examples):
        raise UserError(f"{path} has {len(links)} lines for {len(examples)} sentences; they must be parallel")
    check_links(links, examples, str(path))
    return links
