"""The languages of a corpus folder: BCP 47 codes (en, pt-BR) of source and target, in a file beside the pairs."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from regard.config.values import LanguageCode
from regard.errors import UserError
from regard.files import write_text

FILE = "languages.json"
_codes = TypeAdapter(dict[str, LanguageCode])


def write_languages(folder: Path, source: str, target: str) -> None:
    """Say of which languages the pairs in this folder are."""
    write_text(folder / FILE, json.dumps({"source": source, "target": target}) + "\n")


def read_languages(folder: Path) -> tuple[str, str] | None:
    """Source and target of the pairs in this folder, where it says so."""
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        codes = _codes.validate_json(path.read_bytes())
        return codes["source"], codes["target"]
    except (ValidationError, KeyError):
        remedy = 'write it as {"source": "en", "target": "fr"}, or delete it'
        raise UserError(f"{path} does not name two languages; {remedy}") from None
