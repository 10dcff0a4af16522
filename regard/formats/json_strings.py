"""The strings of a JSON text, and where they stand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from regard.formats.text_file import TextFile
from regard.formats.unit import FileSpan

_TOKEN = re.compile(r'[\s\ufeff]*("(?:[^"\\\x00-\x1f]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+)', re.DOTALL)
DEEPEST = 200
JsonPath = tuple[str | int, ...]


@dataclass(frozen=True)
class JsonString:
    """A string value, the keys and numbers that lead to it, and its place with its quotes."""

    path: JsonPath
    value: str
    span: FileSpan


@dataclass(frozen=True)
class JsonObject:
    """An object, or a list: from its bracket to past the other. `end`: past its last value; at the bracket if empty."""

    path: JsonPath
    span: FileSpan
    end: int
    empty: bool


def json_strings(file: TextFile) -> Iterator[JsonString | JsonObject]:
    """All string values and objects, inner ones first. A key that an object has twice is refused."""
    return _JsonScanner(file).values()


class _JsonScanner:
    """Reads tokens with a stack of its own, so that nesting has no limit."""

    def __init__(self, file: TextFile) -> None:
        self.file = file
        self.position = 0

    def values(self) -> Iterator[JsonString | JsonObject]:
        text = self.file.text
        stack: list[_Open] = []
        while True:
            token, start = self._token()
            if stack and token in ("}", "]") and (stack[-1].empty or stack[-1].after_value):
                opened = stack.pop()
                if token != opened.closing:
                    raise self._error(start, f"{token!r} where {opened.closing!r} is due")
                end = opened.end if not opened.empty else start
                yield JsonObject(opened.path, FileSpan(opened.start, self.position), end, opened.empty)
            elif stack and stack[-1].after_value:
                if token != ",":
                    raise self._error(start, f"{token[:20]!r} where a comma is due")
                stack[-1].after_value = False
                continue
            else:
                path: JsonPath = ()
                if stack:
                    path, token, start = self._key(stack[-1], token, start)
                if token in ("{", "["):
                    if len(stack) == DEEPEST:
                        raise self._error(start, f"nested more than {DEEPEST} deep; flatten it")
                    stack.append(_Open(path, start, "}" if token == "{" else "]"))
                    continue
                value = self._value(token, start)
                if isinstance(value, str):
                    yield JsonString(path, value, FileSpan(start, self.position))
            if not stack:
                break
            stack[-1].empty, stack[-1].after_value, stack[-1].end = False, True, self.position
        if text[self.position :].strip():
            raise self._error(self.position, "text after the end of the JSON")

    def _key(self, opened: _Open, token: str, start: int) -> tuple[JsonPath, str, int]:
        """The path of the next value, and its first token."""
        if opened.closing == "]":
            opened.count += 1
            return (*opened.path, opened.count - 1), token, start
        if not token.startswith('"'):
            raise self._error(start, f"{token[:20]!r} where a key is due")
        key = str(self._value(token, start))
        if key in opened.keys:
            raise self._error(start, f"the key {key!r} is there twice; delete one")
        opened.keys.add(key)
        colon, place = self._token()
        if colon != ":":
            raise self._error(place, f"{colon[:20]!r} where a colon is due")
        token, start = self._token()
        return (*opened.path, key), token, start

    def _token(self) -> tuple[str, int]:
        match = _TOKEN.match(self.file.text, self.position)
        if match is None:
            if self.file.text[self.position :].strip():
                raise self._error(self.position, "not JSON: a string without its end, or with a line end in it")
            raise self._error(len(self.file.text), "not JSON: it is cut off")
        self.position = match.end()
        return match.group(1), match.start(1)

    def _value(self, token: str, start: int) -> object:
        try:
            return json.loads(token)
        except (json.JSONDecodeError, ValueError) as error:
            raise self._error(start, f"not JSON: {token[:20]!r}: {getattr(error, 'msg', error)}") from None

    def _error(self, position: int, message: str) -> Exception:
        return self.file.error(position, message)


@dataclass
class _Open:
    """An object or a list whose end is not yet there."""

    path: JsonPath
    start: int
    closing: str

    def __post_init__(self) -> None:
        self.keys: set[str] = set()
        self.count = 0
        self.empty, self.after_value, self.end = True, False, self.start


def json_string(text: str) -> str:
    """As JSON writes it, letters beyond ASCII as they are."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False)
