"""Input erasure: a word of the source is left out, or a cell of an image covered, to see what the output owes to it.

Li, Monroe & Jurafsky 2016 erase words; Zeiler & Fergus 2014, 4.2, cover parts of an image with grey.
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.analysis.maps import word_groups
from regard.analysis.view import SourceWord
from regard.config.values import CELL
from regard.data.sources import EncodedImage, Source
from regard.errors import UserError

GREY = 127  # the middle of the bytes, 0 for the encoder


def erase(source: Source, tokens: Sequence[str], hide: Sequence[int]) -> Source:
    """The source without these words, counted from 0; of an image, with these cells covered. `tokens`: of its ids."""
    if not hide:
        return source
    if isinstance(source, EncodedImage):
        return _covered(source, hide)
    groups = word_groups(tuple(tokens))
    _check(hide, len(groups), "word", "words")
    erased = {token for word in hide for token in groups[word]}
    return [token for place, token in enumerate(source) if place not in erased]


def source_words(tokens: Sequence[str], hide: Sequence[int]) -> tuple[SourceWord, ...]:
    """The words of a source with their places among the tokens that are left."""
    words, place = [], 0
    for index, group in enumerate(word_groups(tuple(tokens))):
        text = "".join(tokens[token] for token in group).strip()
        places = () if index in hide else tuple(range(place, place + len(group)))
        place += len(places)
        words.append(SourceWord(text, places, index in hide))
    return tuple(words)


def words_of(tokens: Sequence[str], read: Sequence[str], hide: Sequence[int]) -> tuple[SourceWord, ...]:
    """The same where the model read `read`, which may be another text: tags and placeholders were taken out of it. Then
    the text of a hidden word is not known."""
    groups = word_groups(tuple(tokens))
    if [tokens[token] for word, group in enumerate(groups) if word not in hide for token in group] == list(read):
        return source_words(tokens, hide)
    rest = list(source_words(read, ()))
    for place in hide:
        rest.insert(place, SourceWord("…", (), True))
    return tuple(rest)


def _covered(image: EncodedImage, cells: Sequence[int]) -> EncodedImage:
    _check(cells, len(image), "cell", "cells")
    pixels = image.pixels.copy()
    for cell in cells:
        row, column = (CELL * place for place in divmod(cell, image.side))
        pixels[row : row + CELL, column : column + CELL] = GREY
    return EncodedImage(pixels, image.word)


def _check(hide: Sequence[int], count: int, one: str, many: str) -> None:
    wrong = next((place for place in hide if not 0 <= place < count), None)
    if wrong is not None:
        raise UserError(f"there is no {one} {wrong} to hide: the source has {count} {many}, from 0")
