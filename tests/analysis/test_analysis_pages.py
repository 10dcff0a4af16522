"""The pages in a real browser: they show what they say, answer to the mouse, and neither fetch nor complain."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from PIL import Image

from regard.analysis.overlay import data_uri
from regard.analysis.search import save_tree
from regard.analysis.trace import Trace
from regard.analysis.view import AlternativeToken, ImageRecord, Prediction
from regard.data.tokenizer import EOS, Tokenizer
from regard.inference.beam_tree import BeamTree, Node
from regard.plotting import save_page
from regard.plotting.viewer import viewer_page

SOURCE, INPUT, OUTPUT = ("the", " <cat>", "</s>"), ("<s>", "le", " chat"), ("le", " chat", "</s>")


class Visit:
    """A page that was opened, and all that it asked for or complained about."""

    def __init__(self, page: Any, path: Path) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.address = path.resolve().as_uri()
        page.goto(self.address)

    def check(self) -> None:
        assert self.requests == [self.address], "a page needs no other file and no network"
        assert not self.complaints

    def shades(self) -> list[str]:
        return self.page.eval_on_selector_all(
            ".heat-map .cell", "all => all.map(cell => cell.getAttribute('fill-opacity'))"
        )

    def pressed(self, selector: str) -> list[str]:
        pressed = "buttons => buttons.filter(button => button.ariaPressed === 'true')"
        return self.page.eval_on_selector_all(selector, f"{pressed}.map(one => one.ariaLabel || one.textContent)")

    def status(self) -> str:
        return self.page.locator("[role=status]").text_content()


@pytest.fixture
def trace_page(page: Any, tmp_path: Path) -> Visit:
    crossed = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    straight = torch.tensor([[0.625, 0.25, 0.125]] * 3)
    tensors = {
        "encoder.layers.0.self_attention.weights": torch.eye(3)[None, None],
        "decoder.attention.weights": torch.stack((crossed, straight))[None],
    }
    return Visit(page, Trace(tensors, SOURCE, INPUT, OUTPUT).save(tmp_path / "trace.html", "decoder.attention"))


def test_pointing_at_a_cell_shows_its_weight(trace_page: Visit) -> None:
    page = trace_page.page
    assert page.title() == "regard: the <cat> → le chat" and page.locator(".heat-map .cell").count() == 9
    page.locator(".heat-map .cell").nth(0).hover()
    assert trace_page.status() == "le → the: 0.313"  # the mean of 0 and 0.625
    page.get_by_role("button", name="head 1", exact=True).click()
    page.locator(".heat-map .cell").nth(1).hover()
    assert trace_page.status() == "le → <cat>: 0.250"
    trace_page.check()


def test_the_figures_and_the_sentences_are_linked(trace_page: Visit) -> None:
    page = trace_page.page
    page.get_by_role("button", name="head 0", exact=True).click()
    page.locator(".lines text.large", has_text="chat").hover()
    assert trace_page.status() == "chat → the 100 % · entropy 0.00 nats"
    assert page.locator(".heat-map text.on").all_text_contents() == ["chat"]
    strong = "all => all.filter(line => line.getAttribute('stroke-opacity') > 0.9)"
    places = f"{strong}.map(line => line.dataset.row + line.dataset.column)"
    assert page.eval_on_selector_all(".lines .line", places) == ["10"]
    heat = "all => all.map(token => token.style.getPropertyValue('--heat-share'))"
    assert page.eval_on_selector_all("[data-side=source]", heat) == ["45%", "0%", "0%"]
    page.locator("[data-side=source]").nth(1).hover()
    assert trace_page.status() == "<cat> ← le 100 %"
    trace_page.check()


def test_arrow_keys_move_over_the_figures(trace_page: Visit) -> None:
    page = trace_page.page
    page.locator(".heat-map").focus()
    seen = []
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowUp", "ArrowLeft"):
        page.keyboard.press(key)
        seen.append(trace_page.status().partition(":")[0])
    assert seen == ["le → the", "chat → the", "chat → <cat>", "le → <cat>", "le → <cat>", "le → the"]
    assert page.locator(".heat-map").get_attribute("aria-label") == "le → the: 0.313"
    page.keyboard.press("Escape")
    assert not trace_page.status().strip()
    page.locator(".lines").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
    assert trace_page.status().startswith("le → ")
    trace_page.check()


def test_choosing_a_map_and_a_head(trace_page: Visit) -> None:
    page = trace_page.page
    mean = trace_page.shades()
    page.get_by_role("button", name="head 0", exact=True).click()
    head = trace_page.shades()
    assert head != mean and trace_page.pressed(".choice button") == ["head 0"]
    page.get_by_label("attention", exact=True).select_option(label="encoder.layers.0.self_attention")
    assert trace_page.shades() != head and page.locator(".choice button").count() == 0  # it has one head
    assert page.locator(".heat-map text.label").all_text_contents()[:3] == ["the", "<cat>", "‹end›"]
    trace_page.check()


def test_every_head_is_there_small_and_a_click_shows_it_large(trace_page: Visit) -> None:
    page = trace_page.page
    small = page.locator(".all-heads button")
    assert small.count() == 1 + 2 + 1 and page.locator(".all-heads h3").all_text_contents()[-1] == "encoder.rollout"
    assert trace_page.pressed(".all-heads button") == []  # the mean is shown
    before = trace_page.shades()
    small.nth(2).click()
    assert trace_page.shades() != before
    assert trace_page.pressed(".all-heads button") == ["decoder.attention, head 1"]
    assert page.evaluate("document.activeElement.ariaLabel") == "decoder.attention, head 1"  # though all is drawn anew
    small.nth(0).click()
    assert page.get_by_label("attention", exact=True).input_value() == "encoder.layers.0.self_attention"
    pixel = "canvas => Array.from(canvas.getContext('2d').getImageData(0, 0, 1, 1).data)"
    assert page.eval_on_selector(".all-heads canvas", pixel) == [11, 61, 145, 255]  # weight 1 in the upper left corner
    trace_page.check()


def test_what_could_stand_there_instead(page: Any, tmp_path: Path) -> None:
    rivals = (
        AlternativeToken(5, " chat", -0.105),
        AlternativeToken(6, " <img src=x onerror=alert(1)>", -2.3),
        AlternativeToken(7, "s", -7.0),
    )
    found = Prediction(5, -0.105, 0.5, rivals)
    seen = Trace({}, SOURCE, INPUT, OUTPUT, (Prediction(4, 0.0, 0.0, ()), found, Prediction(2, 0.0, 0.0, ())))
    visit = Visit(page, save_page(tmp_path / "t.html", viewer_page("t", seen.record().as_dict())))
    assert "attends to nothing" in page.locator(".bottleneck").text_content()
    token = page.locator("button.token", has_text="chat")
    assert token.get_attribute("title") == "chat: 90 %"
    token.click()
    rows = page.locator(".alternatives li").all_text_contents()
    assert rows == ["chat90 %", "<img src=x onerror=alert(1)>10 %", "…s< 0.1 %"]  # which goes on with the last word
    page.keyboard.press("Escape")
    assert page.locator(".alternatives").count() == 0
    assert page.evaluate("document.activeElement.textContent") == "chat"
    visit.check()


def test_hostile_tokens_are_text(page: Any, tmp_path: Path) -> None:
    tokens = ("<img src=x onerror=alert(1)>", "</script><b>", "\u202eevil", "\x00")
    seen = Trace({"decoder.attention.weights": torch.eye(4)[None, None]}, tokens, tokens, tokens)
    visit = Visit(page, seen.save(tmp_path / "t.html"))
    assert page.locator("main img, main b").count() == 0
    labels = page.locator(".lines text.large").all_text_contents()
    assert labels[1:4] == ["</script><b>", "⟨U+202E⟩evil", "⟨U+0000⟩"]
    visit.check()


def test_an_image_shows_where_each_word_looked(page: Any, tmp_path: Path) -> None:
    weights = torch.tensor([[[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.7]]])
    tokens = ("le", "</s>")
    seen = Trace({"decoder.attention.weights": weights[None]}, ("0,0", "0,1", "1,0", "1,1"), ("<s>", "le"), tokens)
    uri = data_uri(np.full((32, 32, 3), 200, np.uint8))
    record = replace(seen.record(), image=ImageRecord(uri, 2, (1,)))
    visit = Visit(page, save_page(tmp_path / "i.html", viewer_page("i", record.as_dict())))
    veils = "all => all.map(cell => cell.getAttribute('fill-opacity'))"
    assert page.eval_on_selector_all("svg.image > .veil", veils) == ["0"] * 4 and page.locator(".cover").count() == 1
    page.locator("svg.image").focus()
    page.keyboard.press("ArrowRight")
    assert page.eval_on_selector_all("svg.image > .veil", veils) == ["0.000", "0.669", "0.669", "0.669"]
    assert visit.pressed(".word-thumb") == ["le"] and visit.status().startswith("le → cell 0,0 70 %")
    visit.requests = [url for url in visit.requests if not url.startswith("data:")]
    visit.check()


def test_figures_are_saved_as_svg_and_png(trace_page: Visit, tmp_path: Path) -> None:
    page = trace_page.page
    page.locator("figure.of-heat-map").hover()
    with page.expect_download() as saved:
        page.get_by_role("button", name="save Heat map as SVG").click()
    saved.value.save_as(tmp_path / "map.svg")
    svg = ElementTree.parse(tmp_path / "map.svg").getroot()
    fills = {rect.get("fill") for rect in svg.iter("{http://www.w3.org/2000/svg}rect")}
    assert (
        "rgb(11, 61, 145)" in fills and saved.value.suggested_filename == "heat-map.svg"
    )  # nothing is left to a style sheet
    with page.expect_download() as saved:
        page.get_by_role("button", name="save Lines as PNG").click()
    saved.value.save_as(tmp_path / "lines.png")
    assert Image.open(tmp_path / "lines.png").width == 880
    assert not trace_page.complaints


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_schemes_and_a_phone(page: Any, trace_page: Visit, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390, "height": 844})
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert (sum(rgb(ink)) < sum(rgb(paper))) == (scheme == "light")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def rgb(colour: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", colour)[:3]]


def test_in_a_notebook_the_page_works_in_its_frame(page: Any, tmp_path: Path) -> None:
    seen = Trace({"decoder.attention.weights": torch.eye(3)[None, None]}, SOURCE, INPUT, OUTPUT)
    (tmp_path / "notebook.html").write_text(
        f"<!doctype html><meta charset=utf-8>{seen._repr_html_()}", encoding="utf-8"
    )
    visit = Visit(page, tmp_path / "notebook.html")
    frame = page.frame_locator("iframe")
    assert frame.locator(".heat-map .cell").count() == 9
    frame.locator(".heat-map .cell").nth(4).hover()
    assert frame.locator("[role=status]").text_content() == "chat → <cat>: 1.000"
    assert [url for url in visit.requests if url != "about:srcdoc"] == [visit.address] and not visit.complaints


def test_the_tree_of_a_beam_is_stepped_through(page: Any, tmp_path: Path) -> None:
    letters = Tokenizer.train(["ab"], "character")
    a, b = letters.encode("ab")
    tree = BeamTree(((Node((a,), -0.1, None), Node((b,), -2.0, None)), (Node((a, EOS), -0.2, -0.1),)), (a, EOS))
    visit = Visit(page, save_tree(tmp_path / "tree.html", tree, letters, "x → a"))
    assert page.locator("g.best").count() == 3 and page.locator("g.pruned").count() == 1
    opacity = page.eval_on_selector("g.pruned", "node => getComputedStyle(node).opacity")
    assert float(opacity) < 0.5 and page.locator("path.best").count() == 2
    assert visit.status().startswith("a — log-probability -0.200 (82 %); ended, length-normalised score -0.100")
    page.locator("svg.tree").focus()
    page.keyboard.press("Home")
    assert visit.status() == "the start" and page.locator("g.later").count() == 3
    page.keyboard.press("ArrowRight")
    assert visit.status().startswith("a — log-probability -0.100") and page.locator("g.later").count() == 1
    page.keyboard.press("ArrowDown")
    assert visit.status().endswith("dropped before any end") and page.locator("g.on").count() == 2
    page.keyboard.press("End")
    assert page.locator("g.here.best").count() == 1 and page.locator("g.later").count() == 0
    visit.check()
