"""Translation: source text to target text, word alignments, alignment error rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self, overload

from regard.analysis.ablation import attention_heads
from regard.analysis.alignment import (
    AlignmentReport,
    Gold,
    check_links,
    measure_alignments,
    read_pharaoh,
    true_links,
)
from regard.analysis.trace import ForcedPair, source_attentions
from regard.config import SearchSettings
from regard.data.codecs import symbols_of
from regard.data.corpus import Example
from regard.data.embedded.truth import truths
from regard.data.glossary import Glossary, stands_in
from regard.data.masking import PlaceholderSymbols
from regard.errors import UserError
from regard.evaluation import TranslationReport, bleu_tokenizer, chrf, evaluate_translation
from regard.evaluation.calibration import Calibration, CalibrationReport, RightEvent, TokenScores, is_right
from regard.evaluation.report import GlossaryReport
from regard.inference import ProgressCallback
from regard.pipeline.prefix import Prefix
from regard.pipeline.protected_search import ProtectedSearch
from regard.pipeline.protection import check_placeholders
from regard.pipeline.result import Result
from regard.pipeline.text_model import SourceToText

# What edits are counted in, by the kind of tokenizer; of words and pieces TER counts them
SPELT_IN: dict[str, Literal["symbol", "letter"]] = {"symbol": "symbol", "character": "letter", "decomposed": "letter"}

CALIBRATION = "calibration.json"  # in a run
AnyGlossary = Glossary | str | Path | None


class Translator(SourceToText):
    """Source text to target text. Placeholders come out as they went in; a glossary's terms appear."""

    glossary: Glossary | None = None

    @overload
    def translate(self, text: str, prefix: Prefix = "", glossary: AnyGlossary = None, **search: Any) -> Result: ...
    @overload
    def translate(
        self, text: Sequence[str], prefix: Prefix = "", glossary: AnyGlossary = None, **search: Any
    ) -> list[Result]: ...
    def translate(
        self, text: str | Sequence[str], prefix: Prefix = "", glossary: AnyGlossary = None, **search: Any
    ) -> Result | list[Result]:
        """As of every model. `glossary`: terms and what they must become, a file (TSV, TBX) or a Glossary."""
        model = self if glossary is None else self.with_glossary(glossary)
        return super(Translator, model).translate(text, prefix, **search)

    def with_glossary(self, glossary: Glossary | str | Path) -> Self:
        """The same translator, whose outputs hold the translations of the glossary's terms."""
        data = self.run.plan.data
        known = data.source_language and data.target_language and (data.source_language, data.target_language)
        model = copy(self)
        model.glossary = glossary if isinstance(glossary, Glossary) else Glossary.read(glossary, known or None)
        return model

    def _results(
        self,
        texts: Sequence[str],
        search: SearchSettings,
        progress: ProgressCallback | None,
        prefixes: Sequence[Sequence[int]],
    ) -> list[Result]:
        self.check_short_list(search)
        results = ProtectedSearch(self, self._sources, self.glossary).results(texts, search, progress, prefixes)
        calibration = self.calibration
        return results if calibration is None else [replace(result, calibration=calibration) for result in results]

    @property
    def calibration(self) -> Calibration | None:
        """What `regard calibrate` has stored with the run."""
        path = self.run.path / CALIBRATION
        return Calibration.read(path) if path.is_file() else None

    def calibrate(
        self,
        event: RightEvent | None = None,
        search: SearchSettings | None = None,
        progress: ProgressCallback | None = None,
    ) -> CalibrationReport:
        """Fit the confidence of outputs on the run's development pairs, store it with the run, and measure it on the
        test pairs. `event`: what is right; without it, equality for short answers, and chrF above 80 for sentences."""
        event = event or ("exact" if self.run.plan.training.metric == "exact" else "chrf")
        dev, test = (self._scored(self.examples(split), event, search, progress) for split in ("dev", "test"))
        calibration = Calibration.fit(*dev, event)
        calibration.write(self.run.path / CALIBRATION)
        return CalibrationReport.of(calibration, *test)

    def _scored(
        self,
        examples: Sequence[Example],
        event: RightEvent,
        search: SearchSettings | None,
        progress: ProgressCallback | None,
    ) -> tuple[list[TokenScores], list[bool]]:
        """The scores of all outputs that need no review anyway, and whether each is right."""
        best = (search or self.search).model_copy(update={"n_best": 1})
        results = self.translate_all([example.source for example in examples], best, progress)
        scores, right = [], []
        for example, result in zip(examples, results, strict=True):
            if result.scorer is not None and not (result.problem or result.review):
                scores.append(result.scorer()[0])
                right.append(is_right(result.text, example.target, event))
        return scores, right

    def evaluate_glossary(
        self,
        examples: Sequence[Example],
        glossary: Glossary | str | Path,
        search: SearchSettings | None = None,
        progress: ProgressCallback | None = None,
    ) -> GlossaryReport:
        """How often the terms appear without the glossary and with it, and what it costs in chrF."""
        model = self.with_glossary(glossary)
        assert model.glossary is not None
        terms = model.glossary
        holding = [example for example in examples if terms.find(example.source)]
        if not holding:
            raise UserError("the glossary: none of its terms is in these sources; give others")
        best = (search or self.search).model_copy(update={"n_best": 1})
        sources, references = [one.source for one in holding], [one.target for one in holding]
        alone = [result.text for result in self.translate_all(sources, best, progress)]
        results = model.translate_all(sources, best, progress)
        uses = [term for result in results for term in result.terms]
        by_itself = [
            stands_in(term.target, text)
            for text, source in zip(alone, sources, strict=True)
            for term in dict.fromkeys(terms.find(source))
        ]
        return GlossaryReport(
            sentences=len(holding),
            terms=len(uses),
            kept_alone=sum(by_itself),
            kept=sum(term.kept for term in uses),
            forced=sum(term.forced for term in uses),
            chrf_alone=chrf(alone, references),
            chrf=chrf([result.text for result in results], references),
        )

    def _growth(self, text: str, search: SearchSettings, prefix: Sequence[int]) -> Iterator[Result]:
        """Masked and restored. Tokens of a stream are final, so that what is missing at its end can only be told."""
        symbols = symbols_of(self.source_codec, self.target_codec) or PlaceholderSymbols()
        masked = symbols.mask(text)
        for result in super()._growth(masked.text, search, prefix):
            output = masked.restore(result.text)
            differ = check_placeholders(text, output) if result.finished else None
            yield replace(result, text=output, review=str(differ) if differ else None)

    def forced_pair(self, text: str, target: str) -> ForcedPair:
        """With symbols for the placeholders of both, where the vocabulary has them and both hold the same."""
        symbols = symbols_of(self.source_codec, self.target_codec)
        pair = symbols.mask_pair(Example(text, target)) if symbols else None
        return super().forced_pair(pair.source, pair.target) if pair else super().forced_pair(text, target)

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
