"""Many encoded images in one array, each kept once, as batches take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.config.values import CELL
from regard.data.image_codec import ImageCodec, reason, split_reference
from regard.data.images import Unreadable
from regard.data.sources import EncodedImage, pad_images


@dataclass(frozen=True)
class ImageStore:
    """Encoded images, each kept once: row i shows pixels[images[i]] and words[i]."""

    pixels: np.ndarray  # (images, H, W, 3) bytes
    images: np.ndarray  # (rows,)
    words: np.ndarray  # (rows,)

    @property
    def lengths(self) -> np.ndarray:
        return np.full(len(self.images), (self.pixels.shape[1] // CELL) ** 2)

    def source(self, row: int) -> EncodedImage:
        return EncodedImage(self.pixels[self.images[row]], int(self.words[row]))

    def padded(self, rows: np.ndarray, generator: np.random.Generator | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The bytes and the mask of these rows; nothing about an image is random."""
        return pad_images(self.source(int(row)) for row in rows)

    def select(self, rows: np.ndarray) -> ImageStore:
        return ImageStore(self.pixels, self.images[rows], self.words[rows])


def load_images(codec: ImageCodec, references: Sequence[str]) -> tuple[ImageStore, dict[int, str]]:
    """All of these images, and why some (by their index) cannot be read."""
    side = codec.image_size
    pixels = np.zeros((len(references), side, side, 3), np.uint8)  # memory is taken only where it is written
    loaded: dict[str, int | Unreadable] = {}  # by name: the index of its pixels
    count = 0
    images, words = np.zeros((2, len(references)), np.int64)
    unreadable: dict[int, str] = {}
    for row, reference in enumerate(references):
        name = split_reference(reference)[0]
        if name not in loaded:
            view = codec.view(reference, side)
            loaded[name] = view if isinstance(view, Unreadable) else count
            if not isinstance(view, Unreadable):
                pixels[count] = view
                count += 1
        image, word = loaded[name], codec.word(reference)
        if isinstance(image, Unreadable) or isinstance(word, Unreadable):
            unreadable[row] = reason(image, word)
        else:
            images[row], words[row] = image, word
    return ImageStore(pixels[:count], images, words), unreadable
