"""SentencePiece models: their file format, their normalizer, their two ways to segment, and a codec made of them."""

from __future__ import annotations

from regard.data.sentencepiece.codec import SentencePieceTokenizer
from regard.data.sentencepiece.model_file import PieceModel, parse_model

__all__ = ["PieceModel", "SentencePieceTokenizer", "parse_model"]
