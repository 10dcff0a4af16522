"""Pictures as sources: from a file's name, or a scene, to pixels; in the place of a tokenizer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np

from regard.config.settings import CELL
from regard.data.embedded.scene import draw, is_scene, parse
from regard.data.images import SUFFIXES, Unreadable, read_image
from regard.errors import UserError
from regard.files import write_text

# A word may go with a picture, such as the language of the caption: smile.png#fr
ASKED = re.compile(rf"(?P<name>.+(?:{'|'.join(map(re.escape, SUFFIXES))}))(?:#(?P<word>\w+))?", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Picture(Sequence[bytes]):
    """Pixels (H, W, 3) as bytes, and the number of the word that goes with them (0: none). Its items are its cells."""

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
            return [self[place] for place in range(*index.indices(len(self)))]
        row, column = (CELL * place for place in divmod(range(len(self))[index], self.side))
        return self.pixels[row : row + CELL, column : column + CELL].tobytes()


class ImageCodec:
    """Reads pictures of one size, from a folder unless they are scenes; `words` are those that may go with them."""

    kind = "pictures"

    def __init__(self, image_size: int, folder: Path, words: Sequence[str] = ()) -> None:
        self.image_size = image_size
        self.folder = folder
        self.words = tuple(words)
        self.size = len(self.words) + 1

    @classmethod
    def train(cls, references: Sequence[str], image_size: int, folder: Path) -> ImageCodec:
        """A reader that knows the words of these references."""
        words = {split_reference(reference)[1] for reference in references if not is_scene(reference)} - {""}
        return cls(image_size, folder, sorted(words))

    def encode(self, reference: str) -> Picture:
        pixels, word = self.view(reference, self.image_size), self.word(reference)
        if isinstance(pixels, Unreadable) or isinstance(word, Unreadable):
            raise UserError(f"{split_reference(reference)[0]}: {_why(pixels, word)}")
        return Picture(pixels, word)

    def encode_batch(self, references: Sequence[str]) -> list[Picture]:
        return [self.encode(reference) for reference in references]

    def word(self, reference: str) -> int | Unreadable:
        """The number of the word that goes with the picture, 0 where none does and none must."""
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
        """The same picture in another size, (side, side, 3)."""
        if is_scene(reference):
            return draw(parse(reference), side)
        return read_image(self.folder / split_reference(reference)[0], side)

    def tokens(self, picture: Picture) -> list[str]:
        """A name for each cell: its row and column from 0."""
        return [f"{place // picture.side},{place % picture.side}" for place in range(len(picture))]

    def save(self, path: Path) -> None:
        write_text(path, json.dumps({"kind": self.kind, "words": self.words}, ensure_ascii=False))

    @classmethod
    def load(cls, path: Path, image_size: int, folder: Path) -> ImageCodec:
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            return cls(image_size, folder, [str(word) for word in stored["words"]])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path} is damaged or missing ({error}); restore it or train again") from None


def split_reference(reference: str) -> tuple[str, str]:
    """smile.png#fr → smile.png, fr."""
    match = ASKED.fullmatch(reference)
    return (match["name"], match["word"] or "") if match else (reference, "")


def are_pictures(sources: Sequence[str]) -> bool:
    """Whether every source names a picture."""
    return bool(sources) and all(ASKED.fullmatch(source) for source in sources)


@dataclass(frozen=True)
class ImageStore:
    """Encoded pictures, each kept once: row i shows pixels[pictures[i]] and words[i]."""

    pixels: np.ndarray  # (pictures, H, W, 3) bytes
    pictures: np.ndarray  # (rows,)
    words: np.ndarray  # (rows,)

    @property
    def lengths(self) -> np.ndarray:
        return np.full(len(self.pictures), (self.pixels.shape[1] // CELL) ** 2)

    def source(self, row: int) -> Picture:
        return Picture(self.pixels[self.pictures[row]], int(self.words[row]))

    def padded(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(B, 1 + 3·H·W) bytes; the mask (B, 1) says that there is a picture in every row."""
        return picture_rows([self.source(int(row)) for row in rows])

    def select(self, rows: np.ndarray) -> ImageStore:
        return ImageStore(self.pixels, self.pictures[rows], self.words[rows])


def load_images(reader: ImageCodec, references: Sequence[str]) -> tuple[ImageStore, dict[int, str]]:
    """All of these pictures, and why some (by their place) cannot be shown."""
    side = reader.image_size
    pixels = np.zeros((len(references), side, side, 3), np.uint8)  # memory is taken only where it is written
    places: dict[str, int | Unreadable] = {}
    count = 0
    shown, words = np.zeros((2, len(references)), np.int64)
    unreadable: dict[int, str] = {}
    for row, reference in enumerate(references):
        name = split_reference(reference)[0]
        if name not in places:
            found = reader.view(reference, side)
            places[name] = found if isinstance(found, Unreadable) else count
            if not isinstance(found, Unreadable):
                pixels[count] = found
                count += 1
        place, word = places[name], reader.word(reference)
        if isinstance(place, Unreadable) or isinstance(word, Unreadable):
            unreadable[row] = _why(place, word)
        else:
            shown[row], words[row] = place, word
    return ImageStore(pixels[:count], shown, words), unreadable


def _why(*found: object) -> str:
    return next(one.why for one in found if isinstance(one, Unreadable))


def picture_rows(pictures: Sequence[Picture]) -> tuple[np.ndarray, np.ndarray]:
    """What an encoder of pictures reads: the word, then the pixels; and a mask of one True a row."""
    words = np.array([[picture.word] for picture in pictures], np.uint8)
    pixels = np.stack([picture.pixels.reshape(-1) for picture in pictures])
    return np.concatenate((words, pixels), axis=1), np.ones((len(pictures), 1), bool)
