"""Java's .properties files, of one language. https://docs.oracle.com/javase/8/docs/api/java/util/Properties.html"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from regard.formats.text_file import TextFile, text_file
from regard.formats.unit import FileSpan, Unit

# A line and those that it continues in: a line that ends in an odd number of backslashes goes on.
_LOGICAL = re.compile(r"(?:[^\\\r\n]|\\(?:\r\n|.|\n))*", re.DOTALL)
_PAIR = re.compile(
    r"[ \t\f\ufeff]*((?:[^\\ \t\f:=]|\\.)*)((?:[ \t\f]|\\\r?\n[ \t\f]*)*[:=]?(?:[ \t\f]|\\\r?\n[ \t\f]*)*)", re.DOTALL
)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|\r\n[ \t\f]*|\n[ \t\f]*|.)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def properties_file(path: str | Path, data: bytes) -> TextFile:
    """UTF-8 where it is that (Java 9 and newer), else ISO 8859-1."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return text_file(path, data, "iso-8859-1")
    ascii_only = data.isascii()
    return text_file(path, data, "ascii" if ascii_only else "utf-8")


def read_properties(file: TextFile) -> Iterator[Unit]:
    seen: set[str] = set()
    notes: list[str] = []
    position = 0
    text = file.text
    while position < len(text):
        start = position
        stripped = text[start:].lstrip(" \t\f\ufeff")[:1] if text[start : start + 1] in " \t\f\ufeff" else text[start]
        if stripped in ("#", "!"):
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            notes.append(text[start:end].strip().lstrip("#!").strip())
            position = end + 1
            continue
        match = _LOGICAL.match(text, start)
        assert match is not None
        position = match.end() + 1
        line = match.group()
        if not line.strip():
            continue
        pair = _PAIR.match(line)
        assert pair is not None
        key = unescaped(pair.group(1))
        if key in seen:
            raise file.error(start, f"the key {key!r} is there twice; delete one")
        seen.add(key)
        value = line[pair.end() :]
        span = FileSpan(start + pair.end(), start + len(line))
        yield Unit(
            key, unescaped(value), "", "untranslated", file.place(start), notes=tuple(notes), spans={"text": span}
        )
        notes = []


def unescaped(text: str) -> str:
    joined = _ESCAPE.sub(_letter, text)
    return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # \ud83d\ude00 is one letter


def _letter(match: re.Match[str]) -> str:
    code = match.group(1)
    if code[0] == "u" and len(code) == 5:
        return chr(int(code[1:], 16))
    return "" if code[0] in "\r\n" else _LETTERS.get(code, code)


def properties_content(text: str, encoding: str) -> str:
    """As a value; letters that the file's encoding has not as \\uXXXX."""
    escaped = (
        text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t").replace("\f", "\\f")
    )
    if escaped.startswith(" "):
        escaped = "\\" + escaped
    return "".join(letter if _fits(letter, encoding) else _as_code(letter) for letter in escaped)


def _fits(letter: str, encoding: str) -> bool:
    try:
        letter.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _as_code(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04X}" for i in range(0, len(units), 2))
