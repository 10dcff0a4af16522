"""Pictures that clients send, and their captions."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from regard.analysis.view import TraceRecord
from regard.config import SearchSettings
from regard.errors import UserError
from regard.pipeline import Captioner, Result
from regard.server.refusal import Refusal, bad


def captioned(
    captioner: Captioner, content: bytes, word: str, search: SearchSettings, most_pixels: int, traced: bool
) -> tuple[Result, TraceRecord | None]:
    """The caption of an image file's content, and where the model looked. The file exists while this runs."""
    check_picture(content, most_pixels)
    if not word.isalnum() and word:
        raise bad("word: one word of letters and digits")
    with tempfile.TemporaryDirectory(prefix="regard-") as folder:
        path = Path(folder) / "picture.png"  # the content says what kind it is, the ending only that it is a picture
        path.write_bytes(content)
        reference = f"{path}#{word}" if word else str(path)
        try:
            (result,) = captioner.translate_all([reference], search)
            view = None
            if traced:  # named by the word that went with it: where the file was is nobody's business
                view = replace(captioner.view(reference, prefix=result.ids, search=search), source=word)
        except UserError as error:
            raise bad(str(error).replace(f"{path}: ", "picture: ").replace(str(path), "the picture")) from None
    return result, view


def check_picture(content: bytes, most_pixels: int) -> None:
    """Refuse what is no picture, or one of more pixels than are unpacked here."""
    from PIL import Image, UnidentifiedImageError

    if not content:
        raise bad("file: it is empty; send a picture")
    try:
        with Image.open(BytesIO(content)) as picture:
            width, height = picture.size
    except Image.DecompressionBombError:
        raise Refusal(413, f"file: at most {most_pixels:,} pixels; make the picture smaller") from None
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError):
        raise bad("file: no picture that can be read; send PNG, JPEG, WebP or GIF") from None
    if width * height > most_pixels:
        raise Refusal(
            413, f"file: {width:,} × {height:,} pixels are more than {most_pixels:,}; make the picture smaller"
        )
