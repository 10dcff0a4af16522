"""What encoders read: padded ids and their mask, or the bytes of images."""

from __future__ import annotations

import numpy as np
import pytest

from regard.data.sources import EncodedImage, pad_sources, token_ids


def test_ids_are_padded_and_end() -> None:
    ids, mask = pad_sources([[7, 8, 9], [], [5]])
    assert ids.tolist() == [[7, 8, 9, 2], [2, 0, 0, 0], [5, 2, 0, 0]] and ids.dtype == np.int64
    assert mask.tolist() == [[True] * 4, [True, False, False, False], [True, True, False, False]]


def test_images_are_a_word_and_pixels() -> None:
    pixels = np.arange(2 * 8 * 8 * 3, dtype=np.uint8).reshape(2, 8, 8, 3)
    rows, mask = pad_sources([EncodedImage(pixels[0], 3), EncodedImage(pixels[1])])
    assert rows.dtype == np.uint8 and rows[:, 0].tolist() == [3, 0]
    assert np.array_equal(rows[:, 1:], pixels.reshape(2, -1)) and mask.tolist() == [[True], [True]]


def test_an_image_is_a_sequence_of_cells() -> None:
    pixels = np.arange(16 * 16 * 3, dtype=np.uint16).astype(np.uint8).reshape(16, 16, 3)
    image = EncodedImage(pixels)
    assert image.side == 2 and len(image) == 4
    assert image[1] == pixels[:8, 8:].tobytes() and image[-1] == image[3] and image[1:3] == [image[1], image[2]]
    with pytest.raises(AssertionError, match="no token ids"):
        token_ids(image)
