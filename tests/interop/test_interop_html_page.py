"""The page that holds a model: what it says and shows is what regard says and shows, opened from the disk, offline."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from regard import load
from regard.checkpoint import load_run
from regard.errors import UserError
from regard.interop import browser, export_run
from regard.interop.browser_model import browser_model
from regard.interop.html_page import html_page
from regard.plotting.viewer.assembly import EXPORT, IMPORT
from regard.plotting.viewer.assembly import MODULES as VIEWER

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
TEXTS = ["the old cat sees", "a blue bird über", "naïve 42.", "日本 (so)", "Ж unseen", "pad < s >"]
SEARCHES = [{"beams": 1, "best": 1}, {"beams": 3, "best": 3}]


@pytest.mark.parametrize("name", [*browser.MODULES, browser.PAGE])
def test_a_module_imports_what_stands_before_it(name: str) -> None:
    order = (*VIEWER, *browser.MODULES, browser.PAGE)
    text = browser.asset(name)
    assert text.startswith("// ") and len(text.splitlines()) <= 300
    assert not [line for line in text.splitlines() if len(line) > 120]
    assert len(re.findall(r"^import\b", text, re.MULTILINE)) == len(IMPORT.findall(text))
    assert len(re.findall(r"^export\b", text, re.MULTILINE)) == len(EXPORT.findall(text))
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|fetch\(|XMLHttp", text)
    for names, stem in IMPORT.findall(text):
        assert f"{stem}.js" in order[: order.index(name)]
        if f"{stem}.js" in browser.MODULES:
            exported = {exported for _, exported in EXPORT.findall(browser.asset(f"{stem}.js"))}
            assert set(re.findall(r"\w+", names)) <= exported
    assert len(set(order)) == len(order)


def run_of(kind: str, make_run: Callable[..., Path], language_run: Path) -> Path:
    match kind:
        case "transformer":
            return make_run({"positions": "sinusoidal"})
        case "lstm":
            return make_run({"preset": "lstm-additive", "positions": "none"}, {"kind": "word", "shared": False})
        case "convolution":
            return make_run({"preset": "convolution", "positions": "learned", "max_positions": 60})
        case _:
            return language_run


@pytest.mark.parametrize("kind", ["transformer", "lstm", "convolution", "language"])
def test_outputs_and_views_are_ours(kind: str, make_run, language_run, engine) -> None:
    path = run_of(kind, make_run, language_run)
    pipeline = load(path, threads=1, engine="torch")
    limit = 12
    page = browser_model(pipeline.run, "float32")
    facts = {**page.facts, "search": {**page.facts["search"], "max_tokens": limit, "beams": 1}}
    change = {"silence": page.facts["attentions"][-1:], "hide": [0]}
    given = {"facts": facts, "weights": page.weights}
    jobs: list[dict[str, Any]] = [{"kind": "outputs", **given, "sources": TEXTS, "wanted": one} for one in SEARCHES]
    jobs += [{"kind": "view", **given, "source": TEXTS[0], "changes": changes} for changes in ({}, change)]
    *outputs, view, changed = engine(jobs)
    for wanted, answers in zip(SEARCHES, outputs, strict=True):
        ours = pipeline.translate(TEXTS, beams=wanted["beams"], n_best=wanted["best"], max_tokens=limit)
        for result, answer in zip(ours, answers, strict=True):
            found = result.alternatives or (result,)
            assert [one["text"] for one in answer] == [one.text for one in found]
            assert [one["score"] for one in answer] == pytest.approx([one.score for one in found], abs=1e-4)
    search = pipeline.search_with(beams=1, n_best=1, max_tokens=limit)
    same_record(view, pipeline.view(TEXTS[0], search=search).as_dict())
    same_record(changed, pipeline.changed(**change).view(TEXTS[0], search=search).as_dict())


def same_record(ours: Any, theirs: Any, path: str = "") -> None:
    """Equal but for the last digits of numbers."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), path
        for key, value in theirs.items():
            same_record(ours[key], value, f"{path}.{key}")
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs), path
        for index, value in enumerate(theirs):
            same_record(ours[index], value, f"{path}[{index}]")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, abs=3e-4), path
    else:
        assert ours == theirs, path


def test_a_caption_is_ours(tiny_run: Callable[..., Path], tmp_path: Path, engine) -> None:
    path = tiny_run(tmp_path / "shapes", "image-lstm", {"corpus": "shapes"}, {"image_size": 16})
    pipeline = load(path, threads=1)
    source = pipeline.run.examples("dev")[0].source
    image = pipeline.source_codec.encode(source)
    page = browser_model(pipeline.run, "float32")
    facts = {**page.facts, "search": {**page.facts["search"], "max_tokens": 8}}
    given = {"pixels": image.pixels.ravel().tolist(), "word": 0, "uri": "data:,"}
    (record,) = engine(
        [{"kind": "view", "facts": facts, "weights": page.weights, "source": given, "changes": {"hide": [1]}}]
    )
    theirs = pipeline.changed(hide=[1]).view(source, search=pipeline.search_with(max_tokens=8)).as_dict()
    theirs["image"]["uri"], theirs["source"] = "data:,", ""
    same_record(record, theirs)


def test_a_page_is_whole(make_run) -> None:
    html = html_page(load_run(make_run()), "int8")
    assert html.count("</script>") == 3 and html.count("<script") == 3
    facts = json.loads(re.search(r'id="facts">(.*?)</script>', html, re.DOTALL)[1])
    assert facts["precision"] == "int8" and len(facts["examples"]) == 5 and "## Scores" in facts["card"]
    assert not re.search(r"""(src|href)="|url\(|@import""", html)


def test_a_page_needs_its_suffix_and_a_model_it_knows(make_run, classifier_run, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"ends in \.html"):
        export_run(make_run(), "html", tmp_path / "page")
    with pytest.raises(UserError, match="for classification"):
        export_run(classifier_run, "html", tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def offline(browser: Any) -> Iterator[Any]:
    context = browser.new_context()
    context.set_offline(True)
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    context.close()


def test_what_is_typed_is_translated_and_looked_at_offline(offline: Any, translator_run: Path, tmp_path: Path) -> None:
    place = export_run(translator_run, "html", tmp_path / "copy.html").path
    pipeline = load(translator_run, threads=1)
    problems: list[str] = []
    offline.on("pageerror", lambda error: problems.append(str(error)))
    offline.goto(place.resolve().as_uri())
    offline.locator(".timing[data-first]").wait_for()
    text = pipeline.run.examples("test")[0].source
    offline.locator("textarea").fill(text)
    said = pipeline.translate(text).text
    output = offline.locator(".sentence.output")
    offline.wait_for_function(
        "text => document.querySelector('.sentence.output')?.textContent.startsWith(text)", arg=said
    )
    assert offline.locator(".heat-map .cell").count() > 0 and offline.locator(".heads canvas").count() >= 6
    offline.get_by_role("button", name="off", exact=True).click()
    offline.locator(".changes li", has_text="off").wait_for()
    assert offline.locator(".before").text_content() == f"Unchanged, the model says: {said}"
    offline.locator(".changes button").first.click()
    offline.locator(".changes li").wait_for(state="detached")
    assert output.text_content().startswith(said) and not problems
