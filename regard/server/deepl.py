"""DeepL's API, v2: the door of its own clients (`server_url`) and of Weblate's DeepL service.

What would silently be ignored, a glossary or a degree of formality, is refused as DeepL refuses it for languages that
lack it.
"""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from regard.server.access import Access
from regard.server.dialect import FORMS, Fields, body_of, errors_as, read_fields, text_of, texts_of
from regard.server.languages import base_language, language_name
from regard.server.refusal import REFUSED, Refusal, bad
from regard.server.translation import Translation
from regard.server.transport import DETAILS

VARIANTS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-BR", "PT-PT")}  # the client refuses EN and PT as targets
NO_LIMIT = 10**12  # characters: with a limit of 0 clients take it for reached


class DeepLError(BaseModel):
    message: str


class DeepLBody(BaseModel):
    """Other fields are ignored, but for those that would change the translation."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": ["Mar 5, 2041"], "target_lang": "FR"}]})
    text: list[str] = Field(min_length=1)
    target_lang: str = Field(min_length=1)
    source_lang: str | None = None
    tag_handling: Literal["xml", "html"] | None = None


class DeepLTranslation(BaseModel):
    detected_source_language: str
    text: str
    billed_characters: int


class DeepLAnswer(BaseModel):
    translations: list[DeepLTranslation]


class DeepLLanguage(BaseModel):
    language: str
    name: str
    supports_formality: bool = False


class DeepLLanguageV3(BaseModel):
    lang: str
    usable_as_source: bool
    usable_as_target: bool
    features: dict[str, Any] = {}


class DeepLUsage(BaseModel):
    character_count: int
    character_limit: int


DEEPL_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": DeepLError, "description": what} for status, what in REFUSED.items()
}


def deepl_error(status: int, message: str) -> dict[str, str]:
    return {"message": message}


def deepl_router(translation: Translation, access: Access) -> APIRouter:
    """/v2, and the list of languages of /v3 that Weblate asks for."""
    router = APIRouter(route_class=errors_as(deepl_error), tags=["DeepL"], responses=DEEPL_REFUSALS)
    billed = [0]  # characters since the start

    @router.post(
        "/v2/translate",
        response_model=DeepLAnswer,
        openapi_extra=body_of(DeepLBody.model_json_schema(), "application/json", *FORMS),
    )
    async def translate(request: Request) -> Any:
        fields = await read_fields(request)
        _check(access, request, fields)
        texts = texts_of(fields.get("text"), "text", empty=True)
        request.scope[DETAILS] |= {"texts": len(texts), "characters": sum(map(len, texts))}
        answer = await _translate(fields, texts, translation)
        billed[0] += sum(map(len, texts))
        return answer

    @router.get("/v2/languages", response_model=list[DeepLLanguage])
    async def languages(request: Request, type: Literal["source", "target"] = "source") -> Any:
        """DeepL's own client sends the type in a body."""
        fields = {"type": type} | await read_fields(request)
        _check(access, request, fields)
        if fields["type"] not in ("source", "target"):
            raise bad("Value for 'type' not supported.")
        targets = fields["type"] == "target"
        codes = _codes(translation.targets() if targets else translation.sources(), targets)
        return [DeepLLanguage(language=code, name=language_name(code)) for code in codes]

    @router.get("/v3/languages", response_model=list[DeepLLanguageV3])
    async def languages_v3(request: Request, resource: str = "translate_text") -> Any:
        _check(access, request, {})
        sources, targets = set(translation.sources()), set(translation.targets())
        return [
            DeepLLanguageV3(lang=code.lower(), usable_as_source=code in sources, usable_as_target=code in targets)
            for code in translation.codes()
        ]

    @router.get("/v2/usage", response_model=DeepLUsage)
    async def usage(request: Request) -> Any:
        _check(access, request, {})
        return DeepLUsage(character_count=billed[0], character_limit=NO_LIMIT)

    return router


def _check(access: Access, request: Request, fields: Fields) -> None:
    """DeepL knows no 401: a key that is missing is a wrong one."""
    try:
        access.check(request, fields.get("auth_key"))
    except Refusal as error:
        raise Refusal(403, error.message) if error.status_code == 401 else error from None


def _codes(codes: list[str], targets: bool) -> list[str]:
    return [
        variant for code in codes for variant in (VARIANTS.get(code.lower(), ()) if targets else ()) or (code.upper(),)
    ]


async def _translate(fields: Fields, texts: list[str], translation: Translation) -> DeepLAnswer:
    target = text_of(fields, "target_lang")
    source = fields.get("source_lang") or None
    if source is not None and not isinstance(source, str):
        raise bad("source_lang must be a text")
    if fields.get("glossary_id"):
        raise bad("glossaries are not supported here; leave glossary_id out")
    if fields.get("formality") in ("more", "less"):
        raise bad("'formality' is not supported for given 'target_lang'.")
    tags = fields.get("tag_handling") or None
    if tags not in (None, "xml", "html"):
        raise bad("Value for 'tag_handling' not supported.")
    format: Literal["text", "html"] = "html" if tags else "text"
    translation.service.check_texts(texts)
    if source is not None:
        done = await translation.translate(texts, source, target, format)
        spoken = [source] * len(texts)
    else:
        spoken = [detections[0].language for detections in await translation.detect(texts)]
        done = []
        for text, language in zip(texts, spoken, strict=True):
            done += await translation.translate([text], language, target, format)
    translations = [
        DeepLTranslation(
            detected_source_language=base_language(language).upper(), text=one.text, billed_characters=len(text)
        )
        for one, text, language in zip(done, texts, spoken, strict=True)
    ]
    return DeepLAnswer(translations=translations)
