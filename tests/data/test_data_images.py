"""Image files of every kind become small square images, or one clear reason why not."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.data.images import MOST_PIXELS, Unreadable, png, read_image, write_png

RED, WHITE = (200, 0, 0), (255, 255, 255)


def saved(path: Path, image: Image.Image, **options) -> Path:
    image.save(path, **options)
    return path


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width: int, height: int) -> bytes:
    """A PNG that is small as a file and huge as an image."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * 1000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def test_an_image_is_fitted_whole_with_white_beside_it(tmp_path: Path) -> None:
    pixels = read_image(saved(tmp_path / "a.png", Image.new("RGB", (30, 60), RED)), 16)
    assert pixels.shape == (16, 16, 3) and pixels.dtype == np.uint8
    assert tuple(pixels[8, 8]) == RED and tuple(pixels[0, 7]) == RED
    assert tuple(pixels[8, 0]) == tuple(pixels[8, 15]) == WHITE


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGBA", "CMYK", "I;16", "YCbCr"])
def test_every_mode_becomes_three_colours(tmp_path: Path, mode: str) -> None:
    image = Image.new("RGB", (9, 9), (128, 128, 128))
    if mode == "I;16":
        image = Image.fromarray(np.full((9, 9), 128 * 257, np.uint16))
    else:
        image = image.convert(mode)
    name = "a.tif" if mode in ("CMYK", "I;16", "YCbCr") else "a.png"
    pixels = read_image(saved(tmp_path / name, image), 8)
    assert pixels.shape == (8, 8, 3)
    if mode != "1":
        assert abs(int(pixels[4, 4, 0]) - 128) < 4


@pytest.mark.parametrize("kind", ["RGBA", "palette"])
def test_what_is_transparent_becomes_white(tmp_path: Path, kind: str) -> None:
    image = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    image.paste((*RED, 255), (0, 0, 4, 8))
    path = tmp_path / "a.png"
    if kind == "palette":
        flat = Image.new("P", (8, 8), 1)
        flat.putpalette([*RED, 0, 0, 0])
        flat.paste(0, (0, 0, 4, 8))
        flat.save(path, transparency=1)
    else:
        image.save(path)
    pixels = read_image(path, 8)
    assert tuple(pixels[4, 6]) == WHITE and tuple(pixels[4, 1]) == RED


def test_a_photograph_is_turned_as_the_camera_was_held(tmp_path: Path) -> None:
    image = Image.new("RGB", (16, 16), WHITE)
    image.paste(RED, (0, 0, 16, 8))  # red above
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned a quarter clockwise
    pixels = read_image(saved(tmp_path / "a.png", image, exif=exif), 16)
    assert tuple(pixels[8, 15]) == RED and tuple(pixels[8, 0]) == WHITE


@pytest.mark.parametrize("size", [(1, 1), (1, 4000), (3000, 1), (2, 2)])
def test_the_smallest_and_the_narrowest_images_are_read(tmp_path: Path, size: tuple[int, int]) -> None:
    pixels = read_image(saved(tmp_path / "a.png", Image.new("RGB", size, RED)), 8)
    assert pixels.shape == (8, 8, 3) and (pixels[..., 1] < 255).any()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not an image"),
        (b"a text, not an image", "not an image"),
        (b"GIF89a", "not an image"),
        (bomb(20_000, 20_000), "more than"),
        (bomb(9_000, 9_000), f"9,000 × 9,000 pixels are more than {MOST_PIXELS:,}"),
        (bomb(100, 100), "damaged"),
    ],
    ids=["empty", "text", "header only", "20,000 × 20,000", "9,000 × 9,000", "too few rows"],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(content)
    found = read_image(path, 8)
    assert isinstance(found, Unreadable) and why in found.why and "\n" not in found.why


@pytest.mark.parametrize("form", ["png", "jpeg", "gif", "webp", "bmp"])
def test_a_truncated_file_is_never_half_an_image(tmp_path: Path, form: str) -> None:
    file = io.BytesIO()
    noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(file, form)
    path = tmp_path / f"a.{form}"
    path.write_bytes(file.getvalue()[: len(file.getvalue()) // 2])
    assert isinstance(read_image(path, 8), Unreadable)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    assert read_image(tmp_path / "none.png", 8) == Unreadable("there is no such file")
    assert isinstance(read_image(tmp_path, 8), Unreadable)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (16, 16, 3), dtype=np.uint8)
    write_png(tmp_path / "a.png", pixels)
    assert np.array_equal(read_image(tmp_path / "a.png", 16), pixels)
    assert (tmp_path / "a.png").read_bytes() == png(pixels)
