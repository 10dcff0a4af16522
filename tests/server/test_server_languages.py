"""Codes of languages as clients write them."""

from __future__ import annotations

import pytest

from regard.server.languages import (
    LanguageDirection,
    base_language,
    language_code,
    language_name,
    parse_pair,
    same_language,
    three_letter_codes,
)


@pytest.mark.parametrize(
    ("code", "other", "same"),
    [
        *(("en", "EN", True), ("pt_BR", "pt-br", True), ("pb", "pt-BR", True), ("zt", "zh-Hant", True)),
        *(("zh", "zh-Hans", True), ("fra", "fr", True), ("fre", "FR", True), ("ces", "cs", True)),
        *(("en", "fr", False), ("pt", "pt-BR", False), ("zh", "zh-Hant", False), ("xyz", "xy", False)),
    ],
)
def test_codes_of_one_language(code: str, other: str, same: bool) -> None:
    assert same_language(code, other) == same == same_language(other, code)


def test_a_language_without_its_region() -> None:
    assert base_language("en-US") == base_language("EN_GB") == base_language("eng") == "en"


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("en-fr", LanguageDirection("en", "fr")),
        ("pt-BR-fr", LanguageDirection("pt-BR", "fr")),
        ("en-zh-Hans", LanguageDirection("en", "zh-Hans")),
        ("en", None),
        ("english-french", None),
        ("", None),
        ("-", None),
    ],
)
def test_pairs_of_the_command_line(text: str, pair: LanguageDirection | None) -> None:
    assert parse_pair(text) == pair


def test_names_and_codes() -> None:
    assert language_name("pt-BR") == "Portuguese (Brazil)" and language_name("x1") == "x1"
    assert language_code("French") == "fr" == language_code("fr") and language_code("spam mail") is None
    assert three_letter_codes("fr") == ["fra", "fre"] and three_letter_codes("xx") == []
