"""What an encoder reads, token ids or an image, and how a batch of either is padded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from regard.config.values import CELL
from regard.data.vocabulary import EOS, PAD


@dataclass(frozen=True, eq=False)
class EncodedImage(Sequence[bytes]):
    """Pixels (H, W, 3) as bytes, and the id of the word that goes with them (0: none). Its items are its cells."""

    pixels: np.ndarray
    word: int = 0

    @property
    def side(self) -> int:
        """Cells of a side."""
        return self.pixels.shape[0] // CELL

    def __len__(self) -> int:
        return self.side**2

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self[cell] for cell in range(*index.indices(len(self)))]
        row, column = (CELL * cell for cell in divmod(range(len(self))[index], self.side))
        return self.pixels[row : row + CELL, column : column + CELL].tobytes()


Source = Sequence[int] | EncodedImage  # ids without EOS, or an image


def token_ids(source: Source) -> Sequence[int]:
    """The ids of a text, where only texts can be."""
    assert not isinstance(source, EncodedImage), "an image has no token ids"
    return source


def pad_sources(sources: Sequence[Source]) -> tuple[np.ndarray, np.ndarray]:
    """Ids with EOS appended, (B, S), and their mask, True = real; or the rows and mask of images."""
    images = [source for source in sources if isinstance(source, EncodedImage)]
    if images:
        return pad_images(images)
    lengths = np.array([len(source) + 1 for source in sources])
    longest = int(lengths.max())
    ids = np.array([[*source, EOS] + [PAD] * (longest - len(source) - 1) for source in sources], np.int64)
    return ids, np.arange(longest) < lengths[:, None]


def pad_images(images: Iterable[EncodedImage]) -> tuple[np.ndarray, np.ndarray]:
    """(B, 1 + 3·H·W) bytes, the word and then the pixels; the mask (B, 1) says that every row has an image."""
    rows = np.stack([np.append(np.uint8(image.word), image.pixels) for image in images])
    return rows, np.ones((len(rows), 1), bool)
