"""Codecs: each side of an example as what a model reads or predicts. A text is tokens, an image pixels, a class an id.

A source codec is a Tokenizer, WholeWords or an ImageCodec, a target codec a Tokenizer, ClassLabels or TagLabels. Code
outside this room knows only the two protocols.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from regard.config import Plan
from regard.config.values import IMAGE_ENCODERS
from regard.data.class_labels import ClassLabels
from regard.data.examples import Corpus
from regard.data.image_codec import ImageCodec
from regard.data.masking import PlaceholderSymbols, count_symbols, mask_pairs
from regard.data.sentencepiece import SentencePieceTokenizer
from regard.data.sources import Source
from regard.data.tag_labels import TagLabels
from regard.data.tokenizer import Tokenizer
from regard.data.whole_words import WholeWords
from regard.errors import UserError


class Codec(Protocol):
    """What source and target codecs have in common."""

    @property
    def kind(self) -> str:
        """The kind of tokenizer, "words", "images", "labels" or "tags"."""
        ...

    @property
    def size(self) -> int:
        """Entries of the vocabulary."""
        ...

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """The first and past-last character of each token; none of an image."""
        ...

    def same_as(self, other: object) -> bool:
        """Whether both encode everything alike."""
        ...

    def save(self, path: str | Path) -> None: ...


class SourceCodec(Codec, Protocol):
    """Examples' sources → what an encoder reads."""

    def encode(self, text: str, /) -> Source: ...

    def encode_batch(self, texts: Sequence[str], /) -> Sequence[Source]: ...

    def source_tokens(self, source: Source) -> list[str]:
        """A name for each position that the encoder reads: tokens and the end of the sentence, or cells."""
        ...


class TargetCodec(Codec, Protocol):
    """Examples' targets ↔ the ids that a decoder or a classifier predicts."""

    @property
    def end(self) -> tuple[int, ...]:
        """Ids that end every target: EOS, or none."""
        ...

    def encode(self, text: str) -> list[int]: ...

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]: ...

    def decode(self, ids: Iterable[int]) -> str: ...

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """A readable text for each id."""
        ...


def same_vocabulary(source: SourceCodec, target: TargetCodec) -> bool:
    """Whether an id means the same on both sides, so that one table can embed both."""
    if isinstance(source, SentencePieceTokenizer) and isinstance(target, SentencePieceTokenizer):
        return source.vocabulary == target.vocabulary  # even where each side has pieces of its own
    return source is target


def train_codecs(plan: Plan, corpus: Corpus) -> tuple[SourceCodec, TargetCodec]:
    """Source and target codec of the training pairs; one and the same object where they share a vocabulary."""
    (source_kind, target_kind), size = plan.tokenizer.kinds, plan.tokenizer.size
    if "sentencepiece" in plan.tokenizer.kinds:
        raise UserError(
            "tokenizer.kind = 'sentencepiece' is that of an imported model; name the model by training.init_from, or "
            "take 'unigram'"
        )
    train, placeholders = corpus.train, None
    if plan.tokenizer.placeholders:
        placeholders = count_symbols(train)
        train = mask_pairs(train, placeholders).examples
    sources, targets = ([getattr(example, side) for example in train] for side in ("source", "target"))
    if plan.tokenizer.shared:
        assert corpus.images is None
        both = Tokenizer.train([*sources, *targets], source_kind, size, placeholders)
        return both, both
    if plan.model.is_tagger:
        return WholeWords.train(sources, size), TagLabels.train(targets)
    if corpus.images is None:
        source = Tokenizer.train(sources, source_kind, size, placeholders)
    else:
        source = ImageCodec.train(sources, plan.model.image_size, corpus.images)
    classes = plan.model.decoder == "none"
    return source, ClassLabels.train(targets) if classes else Tokenizer.train(targets, target_kind, size, placeholders)


def symbols_of(source: Codec, target: Codec) -> PlaceholderSymbols | None:
    """Those for placeholders, which both sides have; None of codecs that have none."""
    if isinstance(source, Tokenizer) and isinstance(target, Tokenizer) and source.placeholders == target.placeholders:
        return source.placeholders
    return None


def load_codecs(
    source_file: Path, target_file: Path, plan: Plan, images: Path | None = None
) -> tuple[SourceCodec, TargetCodec]:
    """What was saved of `train_codecs`; one file holds both where they are one. Images are read from `images`."""
    if plan.tokenizer.kind == SentencePieceTokenizer.kind:
        pieces = SentencePieceTokenizer.load(source_file)
        return pieces, SentencePieceTokenizer.load(target_file) if target_file.is_file() else pieces
    if plan.model.is_tagger:
        return WholeWords.load(source_file), TagLabels.load(target_file)
    if plan.model.encoder in IMAGE_ENCODERS:
        source = ImageCodec.load(source_file, plan.model.image_size, images or Path())
    else:
        source = Tokenizer.load(source_file)
        if plan.tokenizer.shared and plan.model.decoder != "none":
            return source, source
    classes = plan.model.decoder == "none"
    return source, ClassLabels.load(target_file) if classes else Tokenizer.load(target_file)
