"""Quoted strings of PO files: C's escapes, and lines broken as gettext breaks them."""

from __future__ import annotations

import re
import unicodedata

LINE = 79  # characters, with keyword and quotes
_QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*')
_ESCAPED = re.compile(r"\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPES = {"\\": r"\\", '"': r"\"", **{value: f"\\{letter}" for letter, value in _LETTERS.items()}}


def unquoted(line: str) -> str | None:
    """The text of one or several quoted strings on one line; None where the line is something else."""
    parts, position = [], 0
    while position < len(line):
        match = _QUOTED.match(line, position)
        if match is None:
            return None
        parts.append(_ESCAPED.sub(_unescaped, match.group(1)))
        position = match.end()
    return "".join(parts) if parts else None


def _unescaped(match: re.Match[str]) -> str:
    code = match.group(1)
    if code[0] in "01234567":
        return chr(int(code, 8))
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _LETTERS.get(code, code)


def quoted(keyword: str, text: str, newline: str) -> str:
    """`keyword` and the text, on one line where it fits, else with "" first, broken after line ends and spaces."""
    escaped = "".join(_ESCAPES.get(letter, letter) for letter in text)
    if _width(escaped) + len(keyword) + 3 <= LINE and "\\n" not in escaped.removesuffix("\\n"):
        return f'{keyword} "{escaped}"{newline}'
    lines = [f'{keyword} ""', *(f'"{line}"' for line in _broken(text))]
    return "".join(line + newline for line in lines)


def _broken(text: str) -> list[str]:
    lines = []
    for paragraph in text.splitlines(keepends=True) if "\n" in text else [text]:
        line = ""
        for word in re.findall(r"[^ ]*[ ]+|[^ ]+", "".join(_ESCAPES.get(letter, letter) for letter in paragraph)):
            if line and _width(line) + _width(word) + 2 > LINE - 1:
                lines.append(line)
                line = ""
            line += word
        lines.append(line)
    return lines


def _width(text: str) -> int:
    """Columns: East Asian wide letters take two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
