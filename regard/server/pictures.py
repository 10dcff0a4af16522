"""Pictures that clients send, and their captions."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from regard.analysis.view import TraceRecord, TreeRecord
from regard.config import SearchSettings
from regard.data.vocabulary import EOS
from regard.errors import UserError
from regard.pipeline import Captioner, Result
from regard.server.refusal import Refusal, bad
from regard.server.v1_requests import changed_by
from regard.server.v1_schema import CaptionRequest


def captioned(
    captioner: Captioner, content: bytes, body: CaptionRequest, search: SearchSettings, most_pixels: int
) -> tuple[Result, TraceRecord | None, TreeRecord | None]:
    """The caption of an image file's content, where the model looked, and the search. The file exists meanwhile."""
    check_picture(content, most_pixels)
    if not body.word.isalnum() and body.word:
        raise bad("word: one word of letters and digits")
    changed = changed_by(captioner, body)
    assert isinstance(changed, Captioner)
    begun = [token for token in body.prefix_ids if token != EOS]  # a caption that EOS ends has nothing to search for
    view, tree = None, None
    with tempfile.TemporaryDirectory(prefix="regard-") as folder:
        path = Path(folder) / "picture.png"  # the content says what kind it is, the ending only that it is a picture
        path.write_bytes(content)
        reference = f"{path}#{body.word}" if body.word else str(path)
        try:
            (result,) = changed.translate_all([reference], search, prefixes=[begun])
            if body.trace:
                view = changed.view(reference, body.target, () if body.target else body.prefix_ids, search)
            if body.tree:
                beams = search if search.beams > 1 else search.model_copy(update={"beams": 3})
                tree = changed.view_tree(reference, beams)
        except UserError as error:
            raise bad(str(error).replace(f"{path}: ", "picture: ").replace(str(path), "the picture")) from None
    # named by the word that went with it: where the file was is nobody's business
    seen = view and replace(view, source=body.word)
    return result, seen, tree and replace(tree, source=body.word, title="the picture")


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
