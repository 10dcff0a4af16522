"""The types of settings: numbers with bounds, names of kinds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

Range = Annotated[str, Field(pattern=r"^\d+-\d+$")]
Positive = Annotated[int, Field(gt=0, le=2**31 - 1)]
Natural = Annotated[int, Field(ge=0, le=2**31 - 1)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
Width = Annotated[int, Field(gt=0, le=2**16)]
Several = Annotated[int, Field(gt=0, le=2**10)]  # layers, heads, beams, threads, processes: more is a slip of the hand
Place = Annotated[int, Field(ge=0)]  # of a token, from 0
LanguageCode = Annotated[str, Field(pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")]  # BCP 47
Share = Annotated[float, Field(ge=0, lt=1)]

EncoderKind = Literal["rnn", "convolution", "transformer", "grid", "patches", "none"]
TokenizerKind = Literal["character", "decomposed", "symbol", "word", "bpe", "unigram", "sentencepiece"]
DecoderKind = Literal["rnn", "convolution", "transformer", "none"]
ScoreKind = Literal["additive", "dot", "scaled-dot", "bilinear", "projected", "cosine", "multi-head"]
Engine = Literal["auto", "torch", "ctranslate2", "ctranslate2-int8"]  # what decodes (regard.inference.engine)
Positions = Literal["none", "learned", "sinusoidal", "rotary", "alibi"]
IMAGE_ENCODERS = ("grid", "patches")
CELL = 8  # pixels of the side of a cell: what one position of an image's memory stands for
