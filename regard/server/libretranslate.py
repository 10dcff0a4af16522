"""LibreTranslate's API (of 1.9.6): the door of Weblate, Mastodon, wagtail-localize and many small clients.

Better where theirs is a mistake: a list is decoded as one batch, wrong types are 400, every error is JSON, CORS asks
for no credentials. What a model writes is not touched up: neither its case nor its final punctuation is changed.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse
from pydantic import BaseModel
from starlette.datastructures import UploadFile

from regard.server.access import Access
from regard.server.dialect import FORMS, Fields, body_of, errors_as, read_fields, text_of, texts_of
from regard.server.languages import language_name, normalised
from regard.server.libretranslate_schema import (
    ALTERNATIVES,
    REFUSALS,
    DetectBody,
    DetectedLanguage,
    HealthAnswer,
    LibreTranslateAnswer,
    LibreTranslateBody,
    ServedLanguage,
    SuggestAnswer,
    SuggestBody,
    TranslateFileAnswer,
    TranslateFileBody,
)
from regard.server.refusal import Refusal, bad
from regard.server.suggestions import Suggestions
from regard.server.translated_files import FILE_ENDINGS, TranslatedFiles
from regard.server.translation import AUTO, Detection, Translation
from regard.server.transport import DETAILS

JSON = "application/json"


def libretranslate_error(status: int, message: str) -> dict[str, str]:
    return {"error": message}


def libretranslate_router(translation: Translation, access: Access, suggestions: Suggestions | None) -> APIRouter:
    """The routes; `suggestions`: where /suggest writes to, or None where it is off."""
    router = APIRouter(route_class=errors_as(libretranslate_error), tags=["LibreTranslate"], responses=REFUSALS)
    schema = LibreTranslateBody.model_json_schema()

    @router.post(
        "/translate",
        response_model=LibreTranslateAnswer,
        response_model_exclude_none=True,
        openapi_extra=body_of(schema, JSON, *FORMS),
    )
    async def translate(request: Request) -> Any:
        fields = await read_fields(request)
        access.check(request, fields.get("api_key"))
        return await _translate(request, fields, translation)

    _add_files(router, TranslatedFiles(translation), access)

    @router.post("/detect", response_model=list[DetectedLanguage], openapi_extra=_body(DetectBody))
    async def detect(request: Request) -> Any:
        fields = await read_fields(request)
        access.check(request, fields.get("api_key"))
        texts = texts_of(fields.get("q"), "q")
        translation.service.check_texts(texts)
        found = [detection for detections in await translation.detect(texts) for detection in detections]
        best: dict[str, Detection] = {}
        for detection in sorted(found, key=lambda detection: -detection.confidence):
            best.setdefault(detection.language, detection)
        return [_detected(detection) for detection in best.values()]

    @router.post("/suggest", response_model=SuggestAnswer, openapi_extra=_body(SuggestBody))
    async def suggest(request: Request) -> Any:
        if suggestions is None:
            raise Refusal(403, "Suggestions are disabled on this server.")
        fields = await read_fields(request)
        access.check(request, fields.get("api_key"))
        values = [text_of(fields, name) for name in ("q", "s", "source", "target")]
        translation.service.check_texts(values)
        suggestions.add(*values)
        return SuggestAnswer(success=True)

    _add_about(router, translation, access, suggestions is not None)
    return router


def _add_files(router: APIRouter, files: TranslatedFiles, access: Access) -> None:
    @router.post(
        "/translate_file",
        response_model=TranslateFileAnswer,
        openapi_extra=body_of(TranslateFileBody.model_json_schema(), "multipart/form-data"),
    )
    async def translate_file(request: Request) -> Any:
        """Text, PO, TMX or XLIFF; the answer says where the translated file is."""
        fields = await read_fields(request)
        access.check(request, fields.get("api_key"))
        sent = fields.get("file")
        if not isinstance(sent, UploadFile) or not sent.filename:
            raise bad("Invalid request: missing file parameter")
        source, target = text_of(fields, "source"), text_of(fields, "target")
        name = await files.translate(sent.filename, await sent.read(), source, target)
        return TranslateFileAnswer(translatedFileUrl=f"{request.base_url}download_file/{name}")

    @router.get(
        "/download_file/{name}",
        response_class=FileResponse,
        responses={200: {"content": {"application/octet-stream": {}}}},
    )
    async def download_file(request: Request, name: str) -> FileResponse:
        """A file that /translate_file has made. Its name is the key to it."""
        path = files.path(name)
        return FileResponse(path, media_type="application/octet-stream", filename=name.partition(".")[2])


def _add_about(router: APIRouter, translation: Translation, access: Access, suggestions: bool) -> None:
    """What the server is and can do."""

    @router.get("/languages", response_model=list[ServedLanguage])
    async def languages() -> Any:
        """Every language, with those that it can be translated into; itself among them."""
        return [
            ServedLanguage(
                code=code,
                name=language_name(code),
                targets=sorted({*translation.targets(code), code}),
            )
            for code in translation.codes()
        ]

    @router.get("/frontend/settings")
    async def frontend_settings() -> JSONResponse:
        return JSONResponse(_frontend_settings(translation, access, suggestions))

    @router.get("/health", response_model=HealthAnswer)
    async def health() -> Any:
        return HealthAnswer(status="ok")

    @router.get("/spec", include_in_schema=False)
    async def spec() -> RedirectResponse:
        return RedirectResponse("openapi.json")


def _body(model: type[BaseModel]) -> dict[str, Any]:
    return body_of(model.model_json_schema(), JSON, *FORMS)


async def _translate(request: Request, fields: Fields, translation: Translation) -> LibreTranslateAnswer:
    q = fields.get("q")
    texts = texts_of(q, "q")
    source, target = text_of(fields, "source"), text_of(fields, "target")
    format = fields.get("format") or "text"
    if format not in ("text", "html"):
        raise bad(f"{str(format)[:40]} format is not supported")
    alternatives = _count(fields.get("alternatives"))
    request.scope[DETAILS] |= {"texts": len(texts), "characters": sum(map(len, texts))}
    translation.service.check_texts(texts)
    detected = None
    if normalised(source) == AUTO:
        detected = [detections[0] for detections in await translation.detect(texts)]
    many = isinstance(q, list)
    if detected is None:
        done = await translation.translate(texts, source, target, format, 0 if format == "html" else alternatives)
    else:
        done = []
        for text, detection in zip(texts, detected, strict=True):
            done += await translation.translate([text], detection.language, target, format, alternatives)
    answer = LibreTranslateAnswer(translatedText=[one.text for one in done] if many else done[0].text)
    if alternatives:
        lists = [list(one.alternatives) for one in done]
        answer.alternatives = lists if many else lists[0]
    if detected is not None:
        found = [_detected(detection) for detection in detected]
        answer.detectedLanguage = found if many else found[0]
    return answer


def _count(value: object) -> int:
    """A whole number; of forms as text."""
    if value is None or value == "":
        return 0
    if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, str) and value.isdecimal())):
        raise bad("Invalid request: alternatives is not a number")
    if not 0 <= int(value) <= ALTERNATIVES:
        raise bad(f"Invalid request: alternatives parameter must be <= {ALTERNATIVES}")
    return int(value)


def _detected(detection: Detection) -> DetectedLanguage:
    return DetectedLanguage(language=detection.language, confidence=round(detection.confidence, 1))


def _frontend_settings(translation: Translation, access: Access, suggestions: bool) -> dict[str, Any]:
    """What LibreTranslate tells its own page and some clients."""
    targets = translation.targets()
    target = {"code": targets[0], "name": language_name(targets[0])} if targets else {"code": "", "name": ""}
    return {
        "apiKeys": access.needs_key,
        "charLimit": translation.service.settings.characters,
        "filesTranslation": True,
        "frontendTimeout": 500,
        "keyRequired": access.needs_key,
        "language": {"source": {"code": AUTO, "name": "Auto Detect"}, "target": target},
        "suggestions": suggestions,
        "supportedFilesFormat": list(FILE_ENDINGS),
    }
