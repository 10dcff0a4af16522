"""What the dialects of translation services share: pairs of languages, detection, whole texts with lines or tags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from regard.config import SearchSettings
from regard.pipeline import Result
from regard.server.languages import base_language, language_code, language_name, normalised, same_language
from regard.server.refusal import bad
from regard.server.segments import SegmentedText, TextFormat, segmented
from regard.server.served import ServedModel
from regard.server.service import Service

AUTO = "auto"


@dataclass(frozen=True)
class Detection:
    """A language and how sure the classifier is, 0 to 100."""

    language: str
    confidence: float


@dataclass(frozen=True)
class Translated:
    """One text in the other language."""

    text: str
    alternatives: tuple[str, ...] = ()


class Translation:
    """Translation between languages, whichever model does it. `any_pair`: pairs that nobody knows go to the first."""

    def __init__(self, service: Service, any_pair: bool = False) -> None:
        self.service, self.any_pair = service, any_pair

    # --- languages -----------------------------------------------------------------------------------------------

    def sources(self) -> list[str]:
        return _unique(model.pair.source for model in self.service.translators if model.pair)

    def targets(self, source: str | None = None) -> list[str]:
        """Of one source, or of all."""
        pairs = [model.pair for model in self.service.translators if model.pair]
        return _unique(pair.target for pair in pairs if source is None or same_language(pair.source, source))

    def codes(self) -> list[str]:
        return _unique([*self.sources(), *self.targets()])

    def model(self, source: str, target: str) -> ServedModel | None:
        """Who translates this pair; None where both are one language, and nothing is to be done."""
        known_pair = self.service.pair_model(source, target)
        if known_pair is not None:
            return known_pair
        if same_language(source, target):
            return None
        if self.any_pair:
            return next(
                model for model in self.service.models.values() if model.task == "translation"
            )  # app() has made sure that there is one
        known = {key(code) for code in self.codes() for key in (normalised, base_language)}
        for code in (source, target):
            if base_language(code) not in known:
                raise bad(f"{code[:40]} is not supported")
        names = [f"{language_name(code)} ({code[:40]})" for code in (target, source)]
        raise bad(f"{names[0]} is not available as a target language from {names[1]}")

    async def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The languages of each text, most probable first. Of a text without any, and without a classifier, it is the
        source language of the first run, with confidence 0."""
        detector = self.service.detector
        sources = self.sources()
        unsure = [Detection(sources[0], 0.0)] if sources else []
        if detector is not None:
            results = await self.service.translate(detector, texts)
            return [_detections(result) or unsure for result in results]
        if len(sources) != 1:
            raise bad("auto: no classifier of languages is served; name the source language")
        return [unsure for _ in texts]

    # --- texts ---------------------------------------------------------------------------------------------------

    async def translate(
        self, texts: Sequence[str], source: str, target: str, format: TextFormat = "text", alternatives: int = 0
    ) -> list[Translated]:
        """Each text whole: its lines are translated together with those of all others."""
        self.service.check_texts(texts)
        model = self.model(source, target)
        if model is None:
            return [Translated(text) for text in texts]
        documents = [segmented(text, format) for text in texts]
        segments = [segment for document in documents for segment in document.segments]
        search = model.pipeline.search_with(n_best=alternatives + 1) if alternatives else model.pipeline.search
        results = await self.results(model, segments, search)
        translated, start = [], 0
        for document in documents:
            own = results[start : start + len(document.places)]
            start += len(own)
            translated.append(_translated(document, own, alternatives))
        return translated

    async def results(self, model: ServedModel, segments: Sequence[str], search: SearchSettings) -> list[Result]:
        """As many requests to the model as its limit on texts asks for: a text may have many lines."""
        most = self.service.settings.texts
        results: list[Result] = []
        for start in range(0, len(segments), most):
            results += await self.service.translate(model, segments[start : start + most], search)
        for result in results:
            if result.problem is not None:
                raise bad(f"Invalid request: {result.problem}")
        return results


def _detections(result: Result) -> list[Detection]:
    """None of an empty text."""
    return [Detection(language_code(name) or name, 100 * share) for name, share in result.probabilities.items()]


def _translated(document: SegmentedText, results: Sequence[Result], alternatives: int) -> Translated:
    best = document.joined([result.text for result in results])
    others: list[str] = []
    for rank in range(1, alternatives + 1):
        chosen = [result.alternatives[min(rank, len(result.alternatives) - 1)].text for result in results]
        others.append(document.joined(chosen))
    kept = tuple(other for other in _unique(others) if other.strip() and other != best)
    return Translated(best, kept)


def _unique(codes: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(codes))
