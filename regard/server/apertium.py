"""Apertium APy's two routes: the door of OmegaT (Apertium, custom server) and of Weblate's APy service."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from regard.server.access import Access
from regard.server.dialect import errors_as
from regard.server.languages import three_letter_codes
from regard.server.refusal import REFUSED, bad
from regard.server.translation import Translation
from regard.server.transport import DETAILS


class ApertiumText(BaseModel):
    translatedText: str  # noqa: N815


class ApertiumAnswer(BaseModel):
    responseData: ApertiumText  # noqa: N815
    responseDetails: None = None  # noqa: N815
    responseStatus: int = 200  # noqa: N815


class ApertiumError(BaseModel):
    """OmegaT shows the details."""

    responseData: None = None  # noqa: N815
    responseDetails: str  # noqa: N815
    responseStatus: int  # noqa: N815


class ApertiumPair(BaseModel):
    sourceLanguage: str  # noqa: N815
    targetLanguage: str  # noqa: N815


class ApertiumPairs(BaseModel):
    responseData: list[ApertiumPair]  # noqa: N815
    responseDetails: None = None  # noqa: N815
    responseStatus: int = 200  # noqa: N815


APERTIUM_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ApertiumError, "description": what} for status, what in REFUSED.items()
}


def apertium_error(status: int, message: str) -> dict[str, Any]:
    return {"responseData": None, "responseDetails": message, "responseStatus": status}


def apertium_router(translation: Translation, access: Access) -> APIRouter:
    """GET /translate stands beside LibreTranslate's POST."""
    router = APIRouter(route_class=errors_as(apertium_error), tags=["Apertium"], responses=APERTIUM_REFUSALS)

    @router.get("/translate", response_model=ApertiumAnswer)
    async def translate(
        request: Request,
        q: Annotated[str, Query(min_length=1, description="the text")],
        langpair: Annotated[str, Query(pattern=r"^[^|]+\|[^|]+$", description="en|fr, two or three letters each")],
        format: Annotated[str, Query(description="txt or html")] = "txt",
        key: Annotated[str, Query(description="an API key, where keys are needed")] = "",
    ) -> Any:
        access.check(request, key)
        source, _, target = langpair.partition("|")
        if format not in ("txt", "text", "html"):
            raise bad(f"format {format[:40]} is not supported; give txt or html")
        request.scope[DETAILS] |= {"texts": 1, "characters": len(q)}
        (done,) = await translation.translate([q], source, target, "html" if format == "html" else "text")
        return ApertiumAnswer(responseData=ApertiumText(translatedText=done.text))

    @router.get("/listPairs", response_model=ApertiumPairs)
    async def list_pairs() -> Any:
        """Each pair by two-letter codes, and by the three-letter codes that Apertium itself uses."""
        pairs = []
        for model in translation.service.translators:
            assert model.pair is not None
            source, target = model.pair.source, model.pair.target
            pairs.append((source, target))
            pairs += [(a, b) for a in three_letter_codes(source) for b in three_letter_codes(target)]
        return ApertiumPairs(responseData=[ApertiumPair(sourceLanguage=a, targetLanguage=b) for a, b in pairs])

    return router
