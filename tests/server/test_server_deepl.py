"""DeepL's API: its own client as a black box, and what other clients send."""

from __future__ import annotations

from typing import Any

import pytest

from regard.server import RunToServe
from regard.server.languages import LanguageDirection

deepl = pytest.importorskip("deepl")


def client(server: Any, key: str = "any") -> Any:
    return deepl.DeepLClient(key, server_url=server.url, send_platform_info=False)


def test_its_client_translates(live: Any) -> None:
    results = client(live).translate_text(["abc", "ba"], source_lang="EN", target_lang="ES")
    assert [result.text for result in results] == ["abc", "ba"]
    assert [result.billed_characters for result in results] == [3, 2]
    assert results[0].detected_source_lang == "EN"
    marked = client(live).translate_text("<b>abc</b>", source_lang="EN", target_lang="ES", tag_handling="html")
    assert marked.text == "<b>abc</b>"
    weblate = client(live).translate_text('ab <x id="0"></x> c', source_lang="EN", target_lang="ES", tag_handling="xml")
    assert '<x id="0"></x>' in weblate.text


def test_its_client_lists_languages_and_usage(live: Any) -> None:
    assert [language.code for language in client(live).get_source_languages()] == ["EN"]
    assert [language.code for language in client(live).get_target_languages()] == ["ES"]
    before = client(live).get_usage().character.count
    client(live).translate_text("abcd", source_lang="EN", target_lang="ES")
    usage = client(live).get_usage()
    assert usage.character.count == before + 4 and not usage.any_limit_reached


def test_english_as_a_target_has_the_variants_that_its_client_wants(serving: Any, translator_run: Any) -> None:
    with serving([RunToServe(translator_run, LanguageDirection("de", "en"))]) as server:
        codes = [language.code for language in client(server).get_target_languages()]
        assert codes == ["EN-GB", "EN-US"]
        for code in codes:
            assert client(server).translate_text("ab", source_lang="DE", target_lang=code).text == "ab"


def test_a_form_with_several_texts_is_read(live: Any) -> None:
    """Older clients, and Mastodon's."""
    answer = live.post("/v2/translate", form={"text": ["abc", "b"], "source_lang": "EN", "target_lang": "ES"})
    assert [one["text"] for one in answer.json["translations"]] == ["abc", "b"]


def test_without_a_source_the_only_one_is_taken(serving: Any, spanish_run: Any) -> None:
    with serving([spanish_run]) as server:
        result = client(server).translate_text("abc", target_lang="ES")
    assert result.text == "abc" and result.detected_source_lang == "EN"


def test_weblate_asks_for_languages_by_v3(live: Any) -> None:
    languages = live.get("/v3/languages?resource=translate_text").json
    assert languages == [
        {"lang": "en", "usable_as_source": True, "usable_as_target": False, "features": {}},
        {"lang": "es", "usable_as_source": False, "usable_as_target": True, "features": {}},
    ]


def test_a_wrong_key_is_told_as_deepl_does(serving: Any, spanish_run: Any) -> None:
    with serving([spanish_run], keys=["right"]) as server:
        assert client(server, "right").translate_text("a", source_lang="EN", target_lang="ES").text == "a"
        with pytest.raises(deepl.AuthorizationException):
            client(server, "wrong").translate_text("a", source_lang="EN", target_lang="ES")
        assert server.post("/v2/translate", {"text": ["a"], "target_lang": "ES"}).status == 403


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"target_lang": "ES"}, "missing text"),
    ({"text": ["a"]}, "missing target_lang"),
    ({"text": ["a"], "source_lang": "EN", "target_lang": "XX"}, "XX is not supported"),
    ({"text": ["a"], "source_lang": "EN", "target_lang": "ES", "glossary_id": "x"}, "glossaries are not supported"),
    ({"text": ["a"], "source_lang": "EN", "target_lang": "ES", "formality": "more"}, "formality"),
    ({"text": ["a"], "source_lang": "EN", "target_lang": "ES", "tag_handling": "rtf"}, "tag_handling"),
    ({"text": [5], "source_lang": "EN", "target_lang": "ES"}, "text must be a text"),
    ({"text": ["a"], "source_lang": 5, "target_lang": "ES"}, "source_lang must be a text"),
]


@pytest.mark.parametrize(("body", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refusals_have_its_form(live: Any, body: dict[str, Any], message: str) -> None:
    answer = live.post("/v2/translate", body)
    assert answer.status == 400 and message in answer.json["message"]
