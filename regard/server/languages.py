"""Codes of languages as clients write them, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from babel import Locale, UnknownLocaleError
from babel.core import get_global

ALIASES = {"pb": "pt-br", "zt": "zh-hant", "zh-hans": "zh"}  # LibreTranslate's codes, and what they stand for
THREE_LETTERS = {long: short for long, short in get_global("language_aliases").items() if len(long) == 3}


@dataclass(frozen=True)
class LanguageDirection:
    """BCP 47 codes as the run writes them."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


def normalised(code: str) -> str:
    """Case, underscores and aliases do not matter: pt_BR, PT-BR and pb are one."""
    lower = code.strip().replace("_", "-").lower()
    return THREE_LETTERS.get(lower, ALIASES.get(lower, lower)).lower()


def three_letter_codes(code: str) -> list[str]:
    """The codes of ISO 639-2 and 639-3 for a language with a code of two letters."""
    return [long for long, short in THREE_LETTERS.items() if short == normalised(code)]


def same_language(code: str, other: str) -> bool:
    return normalised(code) == normalised(other)


def base_language(code: str) -> str:
    """The language without region or script: en of en-US."""
    return normalised(code).partition("-")[0]


def language_name(code: str) -> str:
    """Its name in English; a code that nobody knows is its own name."""
    try:
        return Locale.parse(code, sep="-").get_display_name("en") or code
    except (ValueError, UnknownLocaleError):
        return code


def parse_pair(text: str) -> LanguageDirection | None:
    """en-fr, or with regions and scripts pt-BR-fr, en-zh-Hans: split where two languages begin with small letters."""
    parts = text.replace("_", "-").split("-")
    cuts = [cut for cut in range(1, len(parts)) if parts[cut].islower()]
    splits = (("-".join(parts[:cut]), "-".join(parts[cut:])) for cut in cuts)
    return next((LanguageDirection(*codes) for codes in splits if all(map(is_language, codes))), None)


def is_language(code: str) -> bool:
    """Whether Unicode's data know this code."""
    try:
        Locale.parse(code, sep="-")
    except (ValueError, UnknownLocaleError):
        return False
    return True


@cache
def language_code(name: str) -> str | None:
    """The code of a language by its code or its English name."""
    if is_language(name):
        return name
    return next((code for code, known in Locale("en").languages.items() if known == name), None)
