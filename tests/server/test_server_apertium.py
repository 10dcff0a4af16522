"""Apertium APy's routes, as OmegaT and Weblate ask for them."""

from __future__ import annotations

from typing import Any

import pytest


def test_omegat(live: Any) -> None:
    """Its Apertium connector with a custom server, recorded."""
    answer = live.get("/translate?q=abc&markUnknown=no&langpair=en|es&key=bwuxb5jS+VwSJ8mLz1qMfmMrDGA")
    assert answer.json == {"responseData": {"translatedText": "abc"}, "responseDetails": None, "responseStatus": 200}
    encoded = live.get("/translate?q=abc%0Aba&markUnknown=no&langpair=en%7Ces&key=")
    assert encoded.json["responseData"]["translatedText"] == "abc\nba"


def test_weblate(live: Any) -> None:
    """It takes the pairs that are listed, and tests the first."""
    pairs = live.get("/listPairs").json["responseData"]
    assert pairs[0] == {"sourceLanguage": "en", "targetLanguage": "es"}
    assert {"sourceLanguage": "eng", "targetLanguage": "spa"} in pairs
    for pair in pairs:
        languages = f"{pair['sourceLanguage']}|{pair['targetLanguage']}"
        answer = live.get(f"/translate?langpair={languages}&q=ab&markUnknown=no")
        assert answer.json["responseStatus"] == 200 and answer.json["responseData"]["translatedText"] == "ab"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("langpair=en|es", "q: Field required"),
        ("q=a", "langpair: Field required"),
        ("q=a&langpair=en", "langpair: "),
        ("q=a&langpair=en|zz", "zz is not supported"),
        ("q=a&langpair=en|es&format=rtf", "format rtf is not supported"),
    ],
)
def test_refusals_are_in_the_details_that_omegat_shows(live: Any, query: str, message: str) -> None:
    answer = live.get(f"/translate?{query}")
    assert answer.status == answer.json["responseStatus"] == 400
    assert message in answer.json["responseDetails"] and answer.json["responseData"] is None


def test_keys_are_in_the_query(serving: Any, spanish_run: Any) -> None:
    with serving([spanish_run], keys=["right"]) as server:
        assert server.get("/translate?q=a&langpair=en|es&key=right").status == 200
        assert server.get("/translate?q=a&langpair=en|es&key=wrong").status == 403
        assert server.get("/translate?q=a&langpair=en|es").status == 401
