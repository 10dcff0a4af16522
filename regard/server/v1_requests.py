"""From the requests of /v1 to the library, and from its results to answers."""

from __future__ import annotations

from typing import Any

from regard.config import SearchSettings
from regard.pipeline import Pipeline, Result
from regard.pipeline.prefix import Prefix
from regard.server.refusal import Refusal, bad
from regard.server.served import ServedModel
from regard.server.service import Service
from regard.server.v1_schema import ChangeFields, ClassAnswer, ModelDescription, OutputText, PrefixFields, SearchFields


def chosen(service: Service, body: Any) -> ServedModel:
    """By name, by languages, or the only one."""
    if body.model is not None or not (body.source_language and body.target_language):
        return service.model(body.model)
    model = service.pair_model(body.source_language, body.target_language)
    if model is None:
        raise Refusal(404, f"no model translates {body.source_language} to {body.target_language}; ask /v1/models")
    return model


def search_of(pipeline: Pipeline, body: SearchFields) -> SearchSettings:
    """The recipe's search with what the request says."""
    given = {name: value for name in SearchFields.model_fields if (value := getattr(body, name)) is not None}
    if not body.sample:
        del given["sample"]
    return pipeline.search_with(**given)


def traced_search(service: Service, pipeline: Pipeline, body: SearchFields) -> SearchSettings:
    """With an output that is no longer than what may be traced."""
    search = service.limited(search_of(pipeline, body))
    most = service.settings.trace_tokens
    return search.model_copy(update={"max_tokens": min(search.max_tokens or 2 * most, 2 * most)})


def prefix_of(body: PrefixFields) -> Prefix:
    if body.prefix is not None and body.prefix_ids is not None:
        raise bad("give prefix or prefix_ids, not both")
    return body.prefix_ids if body.prefix_ids is not None else body.prefix or ""


def changed_by(pipeline: Pipeline, body: ChangeFields) -> Pipeline:
    if not (body.silence or body.uniform or body.hide):
        return pipeline
    return pipeline.changed(body.silence, body.uniform, body.hide)


async def results_of(service: Service, model: ServedModel, texts: list[str], body: Any) -> list[Result]:
    """Of a model that a request changes, alone; else together with other requests."""
    pipeline = model.pipeline
    search = search_of(pipeline, body) if isinstance(body, SearchFields) else pipeline.search
    prefix = prefix_of(body) if isinstance(body, PrefixFields) else ""
    if changed_by(pipeline, body) is pipeline:
        return await service.translate(model, texts, search, prefix)
    await service.check_texts_of(pipeline, texts)
    limited = service.limited(search)
    return await service.run(
        lambda: changed_by(pipeline, body).translate_all(texts, limited, prefixes=[prefix] * len(texts))
    )


def output_of(result: Result, alignment: list[tuple[int, int]] | None = None) -> OutputText:
    return OutputText(
        text=result.text,
        score=result.score,
        log_prob=result.log_prob,
        tokens=list(result.tokens),
        ids=list(result.ids),
        finished=result.finished,
        problem=result.problem,
        alternatives=[output_of(alternative) for alternative in result.alternatives],
        alignment=alignment,
    )


def alignment_of(result: Result) -> list[tuple[int, int]]:
    return sorted(result.alignment(), key=lambda link: (link[1], link[0]))


def class_of(result: Result) -> ClassAnswer:
    if result.problem is not None:
        raise bad(f"text: {result.problem}")
    probability = result.probabilities[result.text]
    return ClassAnswer(label=result.text, probability=probability, probabilities=result.probabilities)


def description_of(model: ServedModel) -> ModelDescription:
    facts = model.facts
    pair = model.pair
    return ModelDescription(
        name=model.name,
        task=model.task,
        source_language=pair.source if pair else None,
        target_language=pair.target if pair else None,
        parameters=facts.parameters,
        attentions=facts.attentions,
        classes=facts.classes,
        words=facts.words,
        loaded=model.loaded,
        search=model.pipeline.search.model_dump(exclude_none=True),
    )
