"""Text files that are written back with the bytes that they had."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from regard.errors import UserError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class TextFile:
    """`text` with its line ends and its byte order mark, so that encoding it gives the file again."""

    path: str
    text: str
    encoding: str

    @cached_property
    def _line_ends(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]

    def line(self, position: int) -> int:
        return bisect_left(self._line_ends, position) + 1

    def place(self, position: int) -> str:
        return f"{self.path}:{self.line(position)}"

    def error(self, position: int, message: str) -> UserError:
        return UserError(f"{self.place(position)}: {message}")

    @property
    def newline(self) -> str:
        """What ends its lines."""
        return "\r\n" if "\r\n" in self.text else "\n"

    def encode(self, text: str) -> bytes:
        """This file with new content."""
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise UserError(
                f"{self.path}: its encoding {self.encoding} cannot hold {text[error.start]!r}; convert it to UTF-8"
            ) from None


def read_bytes(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot read it: {error.strerror or error}") from None


def bom_encoding(head: bytes) -> str | None:
    """What a byte order mark says."""
    return next((name for mark, name in _BOMS if head.startswith(mark)), None)


def text_file(path: str | Path, data: bytes, encoding: str = "utf-8") -> TextFile:
    """Decoded by its byte order mark, or else as `encoding`."""
    encoding = bom_encoding(data) or encoding
    try:
        text = data.decode(encoding)
    except LookupError:
        raise UserError(f"{path}: the encoding {encoding!r} that it names is not known; correct it") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{data[error.start]:02X}"
        raise UserError(
            f"{path}:{line}: {byte} is not {encoding}; convert it, or correct the encoding it names"
        ) from None
    if text.encode(encoding) != data:
        raise UserError(f"{path}: its {encoding} cannot be written back as it is; convert it to UTF-8")
    return TextFile(str(path), text, encoding)
