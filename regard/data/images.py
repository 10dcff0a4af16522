"""Image files of any kind and size as the small squares that a model reads.

Pillow is imported only here. An image is fitted whole into the square, so that everything that a caption names stays
visible; what is left of the square, and what is transparent, becomes white.
"""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.errors import UserError
from regard.files import write_bytes

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
# By content, whatever a file is called; no format for which Pillow would start another program, as it does for EPS.
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
MOST_PIXELS = 64_000_000  # an image of more is refused before it is unpacked: it may be a decompression bomb
WHITE = (255, 255, 255)


@dataclass(frozen=True)
class Unreadable:
    """In place of an image: why there is none."""

    why: str


def read_image(path: str | Path, side: int) -> np.ndarray | Unreadable:
    """(side, side, 3) bytes, red, green, blue."""
    try:
        from PIL import Image, ImageOps
    except ImportError:
        raise UserError("images need Pillow: pip install 'regard[images]'") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on damaged metadata, or large images: judged below
            with Image.open(path, formats=FORMATS) as opened:
                width, height = opened.size
                if width * height > MOST_PIXELS:
                    return Unreadable(_too_large(width, height))
                opened.draft("RGB", (2 * side, 2 * side))  # JPEG only: unpacked no larger than needed
                upright = ImageOps.exif_transpose(opened)
                fits = [max(1, round(side * length / max(upright.size))) for length in upright.size]
                fitted = _on_white(upright).resize((fits[0], fits[1]), Image.Resampling.LANCZOS)
                square = Image.new("RGB", (side, side), WHITE)
                square.paste(fitted, ((side - fitted.width) // 2, (side - fitted.height) // 2))
                return np.asarray(square)
    except FileNotFoundError:
        return Unreadable("there is no such file")
    except Image.UnidentifiedImageError:
        return Unreadable(f"not an image that can be read; give one of {', '.join(SUFFIXES)}")
    except Image.DecompressionBombError:
        return Unreadable(f"more than {MOST_PIXELS:,} pixels; make it smaller")
    except (OSError, SyntaxError, ValueError, EOFError, MemoryError) as error:  # what Pillow raises for damaged files
        return Unreadable(f"damaged, or no image after all ({error}); restore it or leave it out")


def write_png(path: Path, pixels: np.ndarray) -> None:
    """Pixels (H, W, 3) as a file."""
    write_bytes(path, png(pixels))


def png(pixels: np.ndarray) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="png")
    return file.getvalue()


def _on_white(image):
    """Colours of an image of any mode: grey, palette, with transparency, 16 bits, CMYK."""
    from PIL import Image

    if image.mode.startswith(("I", "F")):  # more than 8 bits of grey, which a plain conversion would cut off
        values = np.asarray(image)  # scaled a few rows at a time: floats of all would take eight times the image
        scale = 255 / 65535 if image.mode != "F" or values.max() > 1 else 255
        grey = np.empty(values.shape, np.uint8)
        for first in range(0, len(values), 64):
            grey[first : first + 64] = np.clip(values[first : first + 64] * float(scale), 0, 255)
        image = Image.fromarray(grey)
    if image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        clear = image.convert("RGBA")
        white = Image.new("RGBA", clear.size, (*WHITE, 255))
        return Image.alpha_composite(white, clear).convert("RGB")
    return image.convert("RGB")


def _too_large(width: int, height: int) -> str:
    return f"{width:,} × {height:,} pixels are more than {MOST_PIXELS:,}; make it smaller"
