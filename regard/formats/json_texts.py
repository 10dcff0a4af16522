"""JSON with the texts of one language: flat or nested, as i18next, Home Assistant, Rails or Flutter (ARB) write it."""

from __future__ import annotations

from collections.abc import Iterator

from regard.formats.json_strings import JsonString, json_string, json_strings
from regard.formats.text_file import TextFile
from regard.formats.unit import Unit


def read_json(file: TextFile) -> Iterator[Unit]:
    """A unit for each string value. Its key is the path, with dots between; keys that begin with @ are ARB's notes."""
    for item in json_strings(file):
        if not isinstance(item, JsonString) or any(str(part).startswith("@") for part in item.path):
            continue
        yield Unit(
            key=".".join(str(part).replace(".", "\\.") for part in item.path),
            source=item.value,
            target="",
            state="untranslated",
            place=file.place(item.span.start),
            spans={"text": item.span},
        )


def json_content(text: str) -> str:
    return json_string(text)
