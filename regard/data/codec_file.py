"""The JSON files that codecs are stored in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.errors import UserError
from regard.files import write_text

FORMAT = 1


def write_codec(path: str | Path, kind: str, **content: Any) -> None:
    write_text(Path(path), json.dumps({"format": FORMAT, "kind": kind, **content}, ensure_ascii=False))


@contextmanager
def codec_content(path: str | Path) -> Iterator[dict[str, Any]]:
    """What `write_codec` wrote. Whatever fails inside this context is the fault of a damaged file."""
    try:
        stored: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        if stored["format"] != FORMAT:
            raise UserError(f"{path}: tokenizer format {stored['format']}, but this regard reads format {FORMAT}")
        yield stored
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"{path}: cannot read the tokenizer: {error.strerror}") from None
    except Exception as error:  # the tokenizers library raises plain Exception for a damaged model
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{path} is not a tokenizer of regard, or is damaged: {reason}") from None
