"""SentencePiece's pieces as a codec: those of another program's model, with that model's own ids."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.data.codec_file import codec_content, write_codec
from regard.data.sentencepiece.model_file import SPACE, USER_DEFINED, parse_model
from regard.data.sentencepiece.normalizer import Normalizer
from regard.data.sentencepiece.segmentation import PieceId, PieceSegmenter
from regard.data.sources import Source, token_ids
from regard.data.vocabulary import EOS, SPECIALS
from regard.errors import UserError

BYTE_PIECE = re.compile(r"<0x([0-9A-F]{2})>")
LABEL = re.compile(r">>[^<>\s]+<<")  # names the target language of a model with several, at the start of a source


class SentencePieceTokenizer:
    """`vocabulary`: the name of each id; the first three are our marks. `proto`: a SentencePiece model file, whose
    pieces are looked up by name."""

    kind = "sentencepiece"
    end: tuple[int, ...] = (EOS,)
    placeholders = None  # an imported model has no symbols for them

    def __init__(self, proto: bytes, vocabulary: Sequence[str], where: str = "the model") -> None:
        self.proto, self.vocabulary = proto, tuple(vocabulary)
        self.model = parse_model(proto, where)
        self.size = len(self.vocabulary)
        self._ids = {name: i for i, name in enumerate(self.vocabulary) if i >= len(SPECIALS)}
        unknown = self.model.pieces[self.model.unknown].text
        if unknown not in self._ids:
            raise UserError(f"{where}: its vocabulary has no {unknown!r}, which stands for what no piece can spell")
        self._unknown = self._ids[unknown]
        protected = [piece.text for piece in self.model.pieces if piece.type == USER_DEFINED]
        self.normalizer = Normalizer(self.model.normalizer, self.model.whitespace_as_suffix, protected)
        self._segment = PieceSegmenter(self.model)

    @property
    def placeholder_ids(self) -> dict[str, int]:
        """The id of each symbol of a placeholder: there are none."""
        return {}

    def pieces(self, text: str) -> list[PieceId]:
        """SentencePiece's pieces of a text, with their ids in its own model."""
        return self._segment(self.normalizer(text))

    def encode(self, text: str) -> list[int]:
        """Ids of the pieces, after that of a label such as >>fra<< in front."""
        label = self._label(text)
        ids = [self._id(piece, i) for piece, i in self.pieces(text[len(label) :])]
        return [self._ids[label], *ids] if label else ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """The text; marks and labels are dropped, what is unknown is written as the model says."""
        rules, suffix = self.model.normalizer, self.model.whitespace_as_suffix
        spaced = rules.remove_extra_whitespaces or rules.add_dummy_prefix  # then the text does not begin with one
        parts: list[bytes] = []
        for name in (self.vocabulary[int(i)] for i in ids if i >= len(SPECIALS)):
            byte = BYTE_PIECE.fullmatch(name)
            if byte is not None and self.model.byte_fallback:
                parts.append(bytes.fromhex(byte[1]))
            elif name == self.vocabulary[self._unknown]:
                parts.append(self.model.unknown_surface.encode())
            elif not LABEL.fullmatch(name):
                leading = spaced and not suffix and not any(parts)
                parts.append((name.removeprefix(SPACE) if leading else name).replace(SPACE, " ").encode())
                spaced = rules.remove_extra_whitespaces
        text = b"".join(parts).decode(errors="replace")
        return text.removesuffix(" ") if suffix else text

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """One readable piece an id, with its spaces."""
        return [SPECIALS[i] if i < len(SPECIALS) else self.vocabulary[i].replace(SPACE, " ") for i in map(int, ids)]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """First and past-last character of each token of `encode(text)`; bytes of one character share them."""
        label = self._label(text)
        rest = text[len(label) :]
        normalized, places = self.normalizer.aligned(rest)
        places.append(len(rest))
        spans = [(0, len(label))] if label else []
        position = 0
        for start, end in self._spans(normalized):
            first, last = places[start], places[end - 1]
            following = next((place for place in places[end:] if place > last), len(rest))
            spans.append((len(label) + first, len(label) + max(following, first)))
            position = end
        assert position == len(normalized)
        return spans

    def source_tokens(self, source: Source) -> list[str]:
        """A readable token for each position that an encoder reads, the end of the sentence included."""
        return self.tokens([*token_ids(source), EOS])

    def same_as(self, other: object) -> bool:
        """Whether both give every text the same ids."""
        return (
            isinstance(other, SentencePieceTokenizer)
            and self.proto == other.proto
            and self.vocabulary == other.vocabulary
        )

    def save(self, path: str | Path) -> None:
        proto = base64.b64encode(self.proto).decode()
        write_codec(path, self.kind, model=proto, vocabulary=list(self.vocabulary))

    @classmethod
    def load(cls, path: str | Path) -> SentencePieceTokenizer:
        with codec_content(path) as stored:
            if stored["kind"] != cls.kind:
                raise UserError(f"{path} holds {stored['kind']!r}, not SentencePiece's pieces")
            return cls(base64.b64decode(stored["model"]), stored["vocabulary"], str(path))

    def _label(self, text: str) -> str:
        found = LABEL.match(text)
        return found[0] if found is not None and found[0] in self._ids else ""

    def _id(self, piece: str, i: int) -> int:
        return self._unknown if i == self.model.unknown else self._ids.get(piece, self._unknown)

    def _spans(self, normalized: str) -> list[tuple[int, int]]:
        """Of each piece in the normalized text; bytes of a character have all of it."""
        spans: list[tuple[int, int]] = []
        position, pending = 0, b""
        for piece, _ in self._segment(normalized):
            byte = BYTE_PIECE.fullmatch(piece)
            if byte is None or not self.model.byte_fallback or normalized.startswith(piece, position):
                spans.append((position, position + len(piece)))
                position += len(piece)
                continue
            pending += bytes.fromhex(byte[1])
            spans.append((position, position + 1))
            if pending == normalized[position].encode():
                position, pending = position + 1, b""
        return spans
