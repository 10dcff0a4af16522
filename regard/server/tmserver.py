"""The API of tmserver (amagama): the training pairs as a translation memory, for Weblate's tmserver service."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.convertors import Convertor, register_url_convertor

from regard.data.corpus import load_corpus
from regard.data.memory import TranslationMemory
from regard.errors import UserError
from regard.server.access import Access
from regard.server.dialect import errors_as
from regard.server.languages import base_language, normalised
from regard.server.refusal import REFUSED, Refusal
from regard.server.served import ServedModel
from regard.server.service import Service, check_unicode

LONGEST = 1000  # characters of a text that is looked up; Weblate sends 500
MOST_MATCHES = 10
Code = Annotated[str, Path(min_length=2, max_length=20)]


class AnyTextConvertor(Convertor[str]):
    """The rest of a path, line breaks included: Starlette's own stops at them."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("any_text", AnyTextConvertor())


class TmserverError(BaseModel):
    error: str


class TmserverLanguages(BaseModel):
    sourceLanguages: list[str]  # noqa: N815
    targetLanguages: list[str]  # noqa: N815


class TmserverMatch(BaseModel):
    source: str
    target: str
    quality: int = Field(ge=0, le=100, description="100: the same source; by edit distance")


TMSERVER_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": TmserverError, "description": what} for status, what in {**REFUSED, 404: "no memory"}.items()
}


def memories_of(service: Service) -> dict[str, TranslationMemory]:
    """The training pairs of every translator whose languages are known, by the model's name."""
    memories = {}
    for model in service.translators:
        try:
            memories[model.name] = TranslationMemory(load_corpus(model.pipeline.run.plan.data).train)
        except UserError as error:
            raise UserError(f"--memory: {model.name}: its training pairs cannot be read: {error}") from None
    return memories


def tmserver_error(status: int, message: str) -> dict[str, str]:
    return {"error": message}


def tmserver_router(service: Service, access: Access, memories: dict[str, TranslationMemory]) -> APIRouter:
    """Under /tmserver; without memories every route says how to have one."""
    router = APIRouter(
        prefix="/tmserver", route_class=errors_as(tmserver_error), tags=["tmserver"], responses=TMSERVER_REFUSALS
    )

    def served() -> list[tuple[ServedModel, str, str]]:
        if not memories:
            raise Refusal(404, "no translation memory is served; start regard serve with --memory")
        pairs = [(model, model.pair) for model in service.translators if model.name in memories]
        return [(model, pair.source, pair.target) for model, pair in pairs if pair is not None]

    @router.get("/languages/", response_model=TmserverLanguages)
    async def languages(request: Request) -> Any:
        access.check(request, request.query_params.get("api_key"))
        known = served()
        sources, targets = sorted({source for _, source, _ in known}), sorted({target for *_, target in known})
        return TmserverLanguages(sourceLanguages=sources, targetLanguages=targets)

    @router.get("/{source}/{target}/unit/{text:any_text}", response_model=list[TmserverMatch])
    async def unit(request: Request, source: Code, target: Code, text: str) -> Any:
        """Pairs whose source is equal or similar, the best first."""
        access.check(request, request.query_params.get("api_key"))
        check_unicode(text)
        if len(text) > LONGEST:
            raise Refusal(400, f"a text of {len(text)} characters is looked up by its first {LONGEST} at most; cut it")
        for key in (normalised, base_language):
            for model, own_source, own_target in served():
                if key(own_source) == key(source) and key(own_target) == key(target):
                    found = await asyncio.to_thread(memories[model.name].lookup, text, limit=MOST_MATCHES)
                    matches = [TmserverMatch(source=m.source, target=m.target, quality=m.score) for m in found]
                    return JSONResponse([match.model_dump() for match in matches])
        raise Refusal(404, f"no memory from {source} to {target} is served")

    return router
