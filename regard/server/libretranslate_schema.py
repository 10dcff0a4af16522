"""The bodies and answers of LibreTranslate's API, as OpenAPI describes them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from regard.server.refusal import REFUSED

ALTERNATIVES = 10  # most that are given


class LibreTranslateError(BaseModel):
    error: str


class LibreTranslateBody(BaseModel):
    """Unknown fields are ignored, as clients expect."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"q": "Mar 5, 2041", "source": "en", "target": "fr"}]})
    q: str | list[str] = Field(description="a text, or a list of texts that are decoded together", min_length=1)
    source: str = Field(description="a code as in /languages, or auto", min_length=1)
    target: str = Field(min_length=1)
    format: Literal["text", "html"] = "text"
    alternatives: int = Field(0, ge=0, le=ALTERNATIVES)
    api_key: str | None = None


class DetectedLanguage(BaseModel):
    language: str
    confidence: float = Field(description="0 to 100; 0 where there is no classifier and only one source language")


class LibreTranslateAnswer(BaseModel):
    translatedText: str | list[str]  # noqa: N815
    alternatives: list[str] | list[list[str]] | None = None
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] | None = None  # noqa: N815


class DetectBody(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"q": "Frankreich"}]})
    q: str | list[str] = Field(min_length=1)
    api_key: str | None = None


class SuggestBody(BaseModel):
    q: str = Field(description="the source text", min_length=1)
    s: str = Field(description="the better translation", min_length=1)
    source: str = Field(min_length=1)
    target: str = Field(min_length=1)


class SuggestAnswer(BaseModel):
    success: bool


class TranslateFileBody(BaseModel):
    file: bytes = Field(description="the file; its name says what kind it is")
    source: str = Field(min_length=1)
    target: str = Field(min_length=1)
    api_key: str | None = None


class TranslateFileAnswer(BaseModel):
    translatedFileUrl: str  # noqa: N815


class ServedLanguage(BaseModel):
    code: str
    name: str
    targets: list[str]


class HealthAnswer(BaseModel):
    status: Literal["ok"]


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": LibreTranslateError, "description": what} for status, what in REFUSED.items()
}
