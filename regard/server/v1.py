"""Our own API, /v1: n-best lists, scores, alignments, streams, attention, the beam, classes, captions, reloading."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import JSONResponse, Response

from regard.analysis.search import tree_record
from regard.analysis.view import TraceRecord, TreeRecord
from regard.pipeline import Captioner, Classifier, SourceToText, require
from regard.server.access import Access
from regard.server.dialect import errors_as
from regard.server.event_stream import EventStream, events
from regard.server.pictures import captioned
from regard.server.refusal import Refusal, bad
from regard.server.served import ServedModel
from regard.server.service import Service
from regard.server.transport import DETAILS
from regard.server.v1_requests import (
    alignment_of,
    changed_by,
    chosen,
    class_of,
    description_of,
    output_of,
    prefix_of,
    results_of,
    search_of,
    traced_search,
)
from regard.server.v1_schema import (
    V1_REFUSALS,
    CaptionAnswer,
    CaptionRequest,
    ClassificationAnswer,
    ClassificationRequest,
    ModelsAnswer,
    ReloadRequest,
    TraceRequest,
    TranslationAnswer,
    TranslationRequest,
    TreeRequest,
)


def v1_error(status: int, message: str) -> dict[str, str]:
    return {"error": message}


def v1_router(service: Service, access: Access) -> APIRouter:
    """The routes under /v1."""
    router = APIRouter(prefix="/v1", route_class=errors_as(v1_error), tags=["regard"], responses=V1_REFUSALS)

    @router.post(
        "/translate",
        response_model=TranslationAnswer,
        response_model_exclude_none=True,
        openapi_extra={"responses": {"200": {"content": {"text/event-stream": {"schema": {"type": "string"}}}}}},
    )
    async def translate(request: Request, body: TranslationRequest) -> Any:
        """Translate texts, or continue them; with `stream`, events `token` and at last `done`, an output each."""
        access.check(request)
        model = chosen(service, body)
        texts = body.text if isinstance(body.text, list) else [body.text]
        request.scope[DETAILS] |= {"model": model.name, "texts": len(texts), "characters": sum(map(len, texts))}
        if isinstance(model.pipeline, Classifier):
            raise bad(f"{model.name} classifies; ask /v1/classify")
        if body.stream:
            return await _stream(service, model, texts, body)
        results = await results_of(service, model, texts, body)
        alignments: list[list[tuple[int, int]] | None] = [None] * len(results)
        if body.alignments:
            alignments = [*await service.run(lambda: [alignment_of(result) for result in results])]
        outputs = [output_of(result, alignment) for result, alignment in zip(results, alignments, strict=True)]
        return TranslationAnswer(model=model.name, outputs=outputs)

    @router.post("/trace", response_model=None, responses={200: {"model": TraceRecord}})
    async def trace(request: Request, body: TraceRequest) -> Response:
        """All that the model attends to, and what it finds probable at each position of the output."""
        access.check(request)
        model = chosen(service, body)
        prefix, search = prefix_of(body), traced_search(service, model.pipeline, body)
        await service.check_traced(model.pipeline, body.text, body.target or "")

        def view() -> TraceRecord:
            pipeline = changed_by(model.pipeline, body)
            return replace(pipeline.view(body.text, body.target, prefix, search, body.first), model=model.name)

        return JSONResponse((await service.run(view)).as_dict())

    @router.post("/tree", response_model=None, responses={200: {"model": TreeRecord}})
    async def tree(request: Request, body: TreeRequest) -> Response:
        """The hypotheses that a beam search kept, step by step."""
        access.check(request)
        model = chosen(service, body)
        search = traced_search(service, model.pipeline, body)
        await service.check_traced(model.pipeline, body.text, "")

        def grown() -> TreeRecord:
            pipeline = require(changed_by(model.pipeline, body), SourceToText, "a beam tree is of a translation")
            beams = search if body.beams or search.beams > 1 else search.model_copy(update={"beams": 3})
            record = tree_record(pipeline.beam_tree(body.text, beams), pipeline.target_codec, body.text)
            return replace(record, source=body.text, model=model.name)

        return JSONResponse((await service.run(grown)).as_dict())

    _add_classes_and_captions(router, service, access)
    _add_models(router, service, access)
    return router


def _add_classes_and_captions(router: APIRouter, service: Service, access: Access) -> None:
    @router.post("/classify", response_model=ClassificationAnswer)
    async def classify(request: Request, body: ClassificationRequest) -> Any:
        """The class of each text, with the probability of every class."""
        access.check(request)
        named = body.model or body.source_language or body.target_language
        only = [model for model in service.models.values() if isinstance(model.pipeline, Classifier)]
        model = chosen(service, body) if named or len(only) != 1 else only[0]
        if not isinstance(model.pipeline, Classifier):
            raise bad(f"{model.name} does {model.task}; name a model that classifies")
        texts = body.text if isinstance(body.text, list) else [body.text]
        if not all(map(str.strip, texts)):
            raise bad("text: an empty text has no class")
        results = await results_of(service, model, texts, body)
        return ClassificationAnswer(model=model.name, results=[class_of(result) for result in results])

    @router.post("/caption", response_model=CaptionAnswer, response_model_exclude_none=True)
    async def caption(request: Request, body: Annotated[CaptionRequest, Form(media_type="multipart/form-data")]) -> Any:
        """The caption of a picture that is sent."""
        access.check(request)
        only = [served for served in service.models.values() if isinstance(served.pipeline, Captioner)]
        served = only[0] if body.model is None and len(only) == 1 else service.model(body.model)
        captioner = served.pipeline
        if not isinstance(captioner, Captioner):
            raise bad(f"{served.name} does {served.task}; name a model that captions")
        given = {name: value for name in ("beams", "n_best") if (value := getattr(body, name)) is not None}
        search = service.limited(captioner.search_with(**given))
        content, pixels = await body.file.read(), service.settings.picture_pixels
        result, view, tree = await service.run(lambda: captioned(captioner, content, body, search, pixels))
        seen = replace(view, model=served.name).as_dict() if view is not None else None
        grown = replace(tree, model=served.name).as_dict() if tree is not None else None
        return CaptionAnswer(model=served.name, output=output_of(result), trace=seen, tree=grown)


def _add_models(router: APIRouter, service: Service, access: Access) -> None:
    @router.get("/models", response_model=ModelsAnswer)
    async def models(request: Request) -> Any:
        """The served runs."""
        access.check(request)
        return ModelsAnswer(models=[description_of(model) for model in service.models.values()])

    @router.post("/models/reload", response_model=ModelsAnswer)
    async def reload(request: Request, body: ReloadRequest | None = None) -> Any:
        """Take over the weights that are on disk now; requests that are under way are answered by the old ones."""
        access.check(request)
        if not access.needs_key and not _from_this_machine(request):
            raise Refusal(403, "without API keys only programs on the server's own machine may do this")
        loaded = await service.reload(body.models if body else ())
        return ModelsAnswer(models=[description_of(model) for model in loaded])


def _from_this_machine(request: Request) -> bool:
    """Not a browser either: a page of anybody's could send this request."""
    host = request.client.host if request.client else ""
    return host in ("127.0.0.1", "::1") and "origin" not in request.headers


async def _stream(service: Service, model: ServedModel, texts: list[str], body: TranslationRequest) -> Response:
    """The first token is awaited here, so that what is refused is refused with its status."""
    if len(texts) != 1:
        raise bad("stream: one text at a time")
    if body.alignments:
        raise bad("stream: a growing output has no alignments yet; ask for them without stream")
    single = {} if body.sample or body.beams else {"beams": 1}
    pipeline = model.pipeline
    search = search_of(pipeline, body.model_copy(update=single))
    outputs = service.stream(changed_by(pipeline, body), texts[0], search, prefix_of(body))
    first = await anext(outputs, None)
    return EventStream(events(outputs, first))
