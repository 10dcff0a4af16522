"""References to images, a file's name or a scene, ↔ pixels: the source codec of a captioner."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regard.data.codec_file import codec_content, write_codec
from regard.data.embedded.scene import draw, is_scene, parse
from regard.data.images import SUFFIXES, Unreadable, read_image
from regard.data.sources import EncodedImage, Source
from regard.errors import UserError

# A word may go with an image, such as the language of the caption: smile.png#fr
REFERENCE = re.compile(rf"(?P<name>.+(?:{'|'.join(map(re.escape, SUFFIXES))}))(?:#(?P<word>\w+))?", re.IGNORECASE)


class ImageCodec:
    """Images of one size, read from a folder unless they are scenes; `words` are those that may go with them."""

    kind = "images"

    def __init__(self, image_size: int, folder: Path, words: Sequence[str] = ()) -> None:
        self.image_size = image_size
        self.folder = folder
        self.words = tuple(words)
        self.size = len(self.words) + 1

    @classmethod
    def train(cls, references: Sequence[str], image_size: int, folder: Path) -> ImageCodec:
        """A codec that knows the words of these references."""
        words = {split_reference(reference)[1] for reference in references if not is_scene(reference)} - {""}
        return cls(image_size, folder, sorted(words))

    def encode(self, reference: str) -> EncodedImage:
        pixels, word = self.view(reference, self.image_size), self.word(reference)
        if isinstance(pixels, Unreadable) or isinstance(word, Unreadable):
            raise UserError(f"{split_reference(reference)[0]}: {reason(pixels, word)}")
        return EncodedImage(pixels, word)

    def encode_batch(self, references: Sequence[str]) -> list[EncodedImage]:
        return [self.encode(reference) for reference in references]

    def word(self, reference: str) -> int | Unreadable:
        """The id of the word that goes with the image, 0 where none does and none must."""
        word = "" if is_scene(reference) else split_reference(reference)[1]
        if word in self.words:
            return self.words.index(word) + 1
        if not word and not self.words:
            return 0
        if not self.words:
            return Unreadable(f"#{word} goes with it, but the model knows no such words; leave it out")
        some = ", ".join(f"#{known}" for known in self.words[:8])
        return Unreadable(f"{f'#{word} is unknown' if word else 'a word must go with it'}; add one of {some}")

    def view(self, reference: str, side: int) -> np.ndarray | Unreadable:
        """The same image in another size, (side, side, 3)."""
        return read_view(reference, side, self.folder)

    def source_tokens(self, source: Source) -> list[str]:
        """A name for each cell that an encoder reads: its row and column from 0."""
        assert isinstance(source, EncodedImage)
        return [f"{cell // source.side},{cell % source.side}" for cell in range(len(source))]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Cells cover no characters."""
        return []

    def same_as(self, other: object) -> bool:
        return isinstance(other, ImageCodec) and self.image_size == other.image_size and self.words == other.words

    def save(self, path: str | Path) -> None:
        write_codec(path, self.kind, words=self.words)

    @classmethod
    def load(cls, path: str | Path, image_size: int, folder: Path) -> ImageCodec:
        with codec_content(path) as stored:
            return cls(image_size, folder, [str(word) for word in stored["words"]])


def read_view(reference: str, side: int, folder: Path = Path()) -> np.ndarray | Unreadable:
    """The pixels (side, side, 3) of a scene, or of an image file in a folder."""
    if is_scene(reference):
        return draw(parse(reference), side)
    return read_image(folder / split_reference(reference)[0], side)


def split_reference(reference: str) -> tuple[str, str]:
    """smile.png#fr → smile.png, fr."""
    match = REFERENCE.fullmatch(reference)
    return (match["name"], match["word"] or "") if match else (reference, "")


def are_images(sources: Sequence[str]) -> bool:
    """Whether every source names an image."""
    return bool(sources) and all(REFERENCE.fullmatch(source) for source in sources)


def reason(*results: object) -> str:
    """Why the first of these that is unreadable is so."""
    return next(result.why for result in results if isinstance(result, Unreadable))
