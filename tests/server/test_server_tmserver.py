"""tmserver's API: the training pairs as a translation memory, as Weblate asks for it."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.data.corpus import load_corpus
from regard.pipeline import load


@pytest.fixture(scope="module")
def remembering(serving: Callable[..., Any], spanish_run: Any) -> Iterator[Any]:
    with serving([spanish_run], memory=True) as server:
        yield server


def unit(server: Any, text: str, pair: str = "en/es") -> Any:
    return server.get(f"/tmserver/{pair}/unit/{urllib.parse.quote(text, safe='')}")


def test_a_training_pair_is_found_exactly(remembering: Any, translator_run: Path) -> None:
    pair = max(load_corpus(load(translator_run).run.plan.data).train, key=lambda pair: len(pair.source))
    best, *others = unit(remembering, pair.source).json
    assert best == {"source": pair.source, "target": pair.target, "quality": 100}
    assert all(match["quality"] < 100 for match in others if match["source"] != pair.source)
    near = unit(remembering, pair.source + "z", "en_US/es").json
    assert near and near[0]["quality"] < 100


def test_languages_are_listed_and_others_refused(remembering: Any, live: Any) -> None:
    assert remembering.get("/tmserver/languages/").json == {"sourceLanguages": ["en"], "targetLanguages": ["es"]}
    assert unit(remembering, "a", "de/fr").status == 404
    assert (
        live.get("/tmserver/languages/").status == 404 and "--memory" in live.get("/tmserver/languages/").json["error"]
    )


@pytest.mark.parametrize("text", ["a/b", "a%2Fb?c=1#d", "\u202eabc", "é" * 300, "a\nb"])
def test_any_text_can_be_looked_up(remembering: Any, text: str) -> None:
    assert unit(remembering, text).status == 200


def test_a_long_text_is_refused(remembering: Any) -> None:
    assert unit(remembering, "a" * 1001).status == 400
