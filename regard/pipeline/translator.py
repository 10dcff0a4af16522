"""Translation: source text to target text, word alignments, alignment error rates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from regard.analysis.ablation import attention_heads
from regard.analysis.alignment import (
    AlignmentReport,
    Gold,
    check_links,
    measure_alignments,
    read_pharaoh,
    true_links,
)
from regard.analysis.trace import source_attentions
from regard.data.corpus import Example
from regard.data.embedded.truth import truths
from regard.errors import UserError
from regard.evaluation import TranslationReport, bleu_tokenizer, evaluate_translation
from regard.inference import ProgressCallback
from regard.pipeline.result import Result
from regard.pipeline.text_model import SourceToText

# What edits are counted in, by the kind of tokenizer; of words and pieces TER counts them
SPELT_IN: dict[str, Literal["symbol", "letter"]] = {"symbol": "symbol", "character": "letter", "decomposed": "letter"}


class Translator(SourceToText):
    """Source text to target text."""

    def report(self, examples: list[Example], results: list[Result], tokenize: str | None) -> TranslationReport:
        sources = [example.source for example in examples]
        too_long = sum(result.problem is not None for result in results)
        return evaluate_translation(
            [result.text for result in results],
            [example.target for example in examples],
            sources,
            lengths=[len(ids) for ids in self.source_codec.encode_batch(sources)],
            forced=self.teacher_forced(examples),
            unfinished=sum(result.truncated for result in results),
            too_long=too_long,
            tokenize=tokenize or bleu_tokenizer([example.target for example in examples]),
            spelt_in=SPELT_IN.get(self.run.plan.tokenizer.kinds[1]),
        )

    def alignment_attention(self, name: str | None = None) -> str:
        """The attention that alignments are taken from: the named one, or the last that attends to the source."""
        known = source_attentions(attention_heads(self.run.model), hasattr(self.run.model, "encoder"))
        if not known:
            raise UserError(f"{self.run.path} has no attention to the source, so there is nothing to align by")
        if name is not None and name not in known:
            raise UserError(
                f"--attention {name}: no attention to the source has this name; there are {', '.join(known)}"
            )
        return name or known[-1]

    def evaluate_alignments(
        self, examples: Sequence[Example], gold: str | Path, progress: ProgressCallback | None = None
    ) -> AlignmentReport:
        """The alignment error rate of every attention and head under teacher forcing.

        `gold`: a file in Pharaoh format, or `corpus` for a corpus with true alignments (dates).
        """
        links = self._corpus_links(examples) if gold == "corpus" else _file_links(gold, examples)
        return measure_alignments(self.trace_all(examples, progress), links, examples)

    def _corpus_links(self, examples: Sequence[Example]) -> list[Gold]:
        known = truths(self.run.plan.data)
        unknown = next((pair for pair in examples if pair not in known or not known[pair].aligned), None)
        if unknown is not None:
            why = (
                f"{unknown.source!r} is not of its dev or test set"
                if known
                else "only dates and the grammars have true alignments"
            )
            raise UserError(f"--alignments corpus: {why}; give a file in Pharaoh format")
        return [true_links(example, known[example]) for example in examples]


def _file_links(path: str | Path, examples: Sequence[Example]) -> list[Gold]:
    links = read_pharaoh(path)
    if len(links) != len(examples):
        raise UserError(f"{path} has {len(links)} lines for {len(examples)} sentences; they must be parallel")
    check_links(links, examples, str(path))
    return links
