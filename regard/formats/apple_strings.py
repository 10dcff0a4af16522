"""Apple's .strings files, of one language: "key" = "text"; with comments between."""

from __future__ import annotations

import re
from collections.abc import Iterator

from regard.formats.text_file import TextFile
from regard.formats.unit import FileSpan, Unit

_COMMENT = re.compile(r"/\*(.*?)\*/|//([^\n]*)", re.DOTALL)
_STRING = r'"((?:[^"\\]|\\.)*)"'
_PAIR = re.compile(rf"(?:{_STRING}|([\w.$/:-]+))\s*=\s*{_STRING}\s*;", re.DOTALL)
_ESCAPE = re.compile(r"\\(U[0-9A-Fa-f]{4}|u[0-9A-Fa-f]{4}|[0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def read_apple_strings(file: TextFile) -> Iterator[Unit]:
    """A unit for each pair; its key may be the text of the developers' language."""
    text, position = file.text, 0
    notes: list[str] = []
    seen: set[str] = set()
    while True:
        while position < len(text) and (text[position].isspace() or text[position] == "\ufeff"):
            position += 1
        if position == len(text):
            return
        comment = _COMMENT.match(text, position)
        if comment is not None:
            notes.append((comment.group(1) or comment.group(2) or "").strip())
            position = comment.end()
            continue
        pair = _PAIR.match(text, position)
        if pair is None:
            raise file.error(position, f'{text[position : position + 20]!r} is no "key" = "text"; repair it')
        key = unescaped_apple(pair.group(1)) if pair.group(1) is not None else pair.group(2)
        if key in seen:
            raise file.error(position, f"the key {key!r} is there twice; delete one")
        seen.add(key)
        span = FileSpan(*pair.span(3))
        source = unescaped_apple(pair.group(3))
        yield Unit(key, source, "", "untranslated", file.place(position), notes=tuple(notes), spans={"text": span})
        notes, position = [], pair.end()


def unescaped_apple(text: str) -> str:
    return _ESCAPE.sub(_letter, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _letter(match: re.Match[str]) -> str:
    code = match.group(1)
    if code[0] in "uU" and len(code) == 5:
        return chr(int(code[1:], 16))
    return chr(int(code, 8)) if code[0] in "01234567" else _LETTERS.get(code, code)


def apple_content(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
