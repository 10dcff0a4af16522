"""The bodies and answers of /v1. OpenAPI describes the server by them; their examples are executed by a test."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import UploadFile
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from regard.server.refusal import REFUSED

Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


def _described(*examples: JsonValue) -> ConfigDict:
    """Fields that nobody knows are refused: a misspelled one would be ignored for ever."""
    return ConfigDict(extra="forbid", json_schema_extra={"examples": list(examples)})


class ModelChoice(BaseModel):
    """Which model answers: by its name or its languages; the only one needs neither."""

    model_config = ConfigDict(extra="forbid")
    model: Name | None = Field(None, description="name of a served run, as in /v1/models")
    source_language: Name | None = Field(None, description="code of the language of the text")
    target_language: Name | None = Field(None, description="code of the language of the output")


class SearchFields(BaseModel):
    """What is left out is as in the recipe of the run."""

    beams: int | None = Field(None, ge=1, le=100, description="1 is greedy")
    n_best: int | None = Field(None, ge=1, le=100, description="outputs of each text")
    length_penalty: float | None = Field(None, ge=0, le=10)
    max_tokens: int | None = Field(None, ge=1, le=100_000, description="longest output")
    sample: bool = Field(False, description="draw from the distribution instead of searching")
    temperature: float | None = Field(None, ge=0.01, le=100)
    top_k: int | None = Field(None, ge=0, le=100_000)
    top_p: float | None = Field(None, ge=0.001, le=1)
    seed: int | None = Field(None, ge=0, le=2**53)


class PrefixFields(BaseModel):
    prefix: str | None = Field(None, description="what the output begins with")
    prefix_ids: list[int] | None = Field(None, max_length=1000, description="the same as ids of tokens")


class ChangeFields(BaseModel):
    """What is changed in the model and in the source."""

    silence: list[Name] = Field([], max_length=100, description="attentions or heads that are silenced")
    uniform: list[Name] = Field([], max_length=100, description="attentions or heads that attend to all alike")
    hide: list[int] = Field([], max_length=1000, description="words of the source that are left out, from 0")


class TranslationRequest(ModelChoice, SearchFields, PrefixFields, ChangeFields):
    """A text or several; of a language model, texts to continue."""

    model_config = _described(
        {"text": "Mar 5, 2041"},
        {"text": ["Mar 5, 2041", "Saturday, August 15, 1992"], "n_best": 3, "alignments": True},
        {"text": "Mar 5, 2041", "prefix": "6", "beams": 1},
        {"text": "Mar 5, 2041", "sample": True, "temperature": 0.7, "seed": 3},
    )
    text: Text | list[str]
    alignments: bool = Field(False, description="the words that each output word is aligned with, by attention")
    stream: bool = Field(False, description="the growing output of one text as server-sent events; greedy or a sample")


class OutputText(BaseModel):
    """One output."""

    text: str
    score: float = Field(description="log-probability / length^length_penalty; ranks outputs")
    log_prob: float = Field(description="nats, of what follows the prefix")
    tokens: list[str]
    ids: list[int]
    finished: bool = Field(description="false: the length limit ended it")
    problem: str | None = Field(None, description="why there is no output")
    alternatives: list[OutputText] = Field([], description="the n best, this one first")
    alignment: list[tuple[int, int]] | None = Field(None, description="source word, output word, from 0")


class TranslationAnswer(BaseModel):
    model: str
    outputs: list[OutputText] = Field(description="one for each text, in order")


class TraceRequest(ModelChoice, SearchFields, PrefixFields, ChangeFields):
    """A text and the output that is searched for, or `target`, which is forced."""

    model_config = _described(
        {"text": "Mar 5, 2041"}, {"text": "Mar 5, 2041", "target": "5 mars 2041"}, {"text": "Mar 5, 2041", "hide": [1]}
    )
    text: Text
    target: Text | None = Field(None, description="the output; without it the one that is searched for")
    first: Name | None = Field(None, description="the map that a viewer shows first")


class TreeRequest(ModelChoice, SearchFields, ChangeFields):
    model_config = _described({"text": "Mar 5, 2041", "beams": 3})
    text: Text


class ClassificationRequest(ModelChoice, ChangeFields):
    model_config = _described({"text": ["Frankreich und Spanien", "le Japon"], "model": "languages"})
    text: Text | list[str]


class ClassAnswer(BaseModel):
    label: str
    probability: float
    probabilities: dict[str, float] = Field(description="of every class, most probable first")


class ClassificationAnswer(BaseModel):
    model: str
    results: list[ClassAnswer]


class CaptionRequest(ChangeFields):
    """The fields of a form; a list is a field that is sent several times."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    file: UploadFile = Field(description="the picture")
    model: Name | None = Field(None, description="name of a served run; the only captioner needs none")
    word: str = Field("", description="what goes with the picture, as its language", max_length=50)
    beams: int | None = Field(None, ge=1, le=100)
    n_best: int | None = Field(None, ge=1, le=100)
    prefix_ids: list[int] = Field([], max_length=1000, description="what the caption begins with, as ids of tokens")
    target: str | None = Field(None, min_length=1, description="a caption to trace instead of the one that is found")
    trace: bool = Field(False, description="also where it looked, for each token")
    tree: bool = Field(False, description="also the hypotheses that the beam search kept")


class CaptionAnswer(BaseModel):
    model: str
    output: OutputText
    trace: dict[str, Any] | None = Field(None, description="as of /v1/trace, with the picture")
    tree: dict[str, Any] | None = Field(None, description="as of /v1/tree")


class ModelDescription(BaseModel):
    """What one served run is."""

    name: str
    task: str
    source_language: str | None
    target_language: str | None
    parameters: int
    attentions: dict[str, int] = Field(description="heads of every attention")
    classes: list[str] = Field([], description="of a classifier")
    words: list[str] = Field([], description="of a captioner: a word that goes with each picture, as its language")
    loaded: float = Field(description="when its weights were loaded, seconds since 1970")
    search: dict[str, Any] = Field(description="how it searches where a request does not say")


class ModelsAnswer(BaseModel):
    models: list[ModelDescription]


class ReloadRequest(BaseModel):
    model_config = _described({})
    models: list[Name] = Field([], max_length=100, description="names; without them all")


class ErrorAnswer(BaseModel):
    error: str = Field(description="one line: what is wrong, and what to do")


V1_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": what} for status, what in REFUSED.items()
}
