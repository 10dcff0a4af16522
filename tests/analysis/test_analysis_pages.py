"""The pages in a real browser: they show what they say, answer to the mouse, and neither fetch nor complain."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.analysis.search import save_tree
from regard.analysis.trace import Trace
from regard.data.tokenizer import EOS, Tokenizer
from regard.inference.beam_tree import BeamTree, Node

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
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

    def fills(self) -> list[str]:
        return self.page.eval_on_selector_all("#map rect", "cells => cells.map(cell => cell.style.fill)")

    def pressed(self, selector: str) -> list[str]:
        script = "buttons => buttons.filter(button => button.ariaPressed === 'true').map(button => button.textContent)"
        return self.page.eval_on_selector_all(selector, script)


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'regard[dev]'")
    if CHROMIUM is None:
        pytest.skip("no chromium to open pages with: apt-get install chromium")
    with driver.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=120_000)
        yield browser.new_page()
        browser.close()


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
    assert page.title() == "regard: the <cat> → le chat" and page.locator("#map rect").count() == 9
    page.locator("#map rect").nth(0).hover()
    assert page.locator("#tip").text_content() == "le → the: 0.313"  # the mean of 0 and 0.625
    page.get_by_role("button", name="head 1", exact=True).first.click()
    page.locator("#map rect").nth(1).hover()
    assert page.locator("#tip").text_content() == "le → <cat>: 0.250"
    trace_page.check()


def test_choosing_a_layer_and_a_head_changes_the_map(trace_page: Visit) -> None:
    page = trace_page.page
    mean = trace_page.fills()
    page.get_by_role("button", name="head 0", exact=True).first.click()
    head = trace_page.fills()
    assert head != mean and trace_page.pressed("#heads button") == ["head 0"]
    page.get_by_label("attention").select_option(label="encoder.layers.0.self_attention")
    assert trace_page.fills() != head and page.locator("#heads button").count() == 0  # it has one head
    assert page.locator("#map text").all_text_contents()[:3] == ["the", "<cat>", "</s>"]
    trace_page.check()


def test_every_head_is_there_small_and_a_click_shows_it_large(trace_page: Visit) -> None:
    page = trace_page.page
    small = page.locator("#all button")
    assert small.count() == 1 + 2 + 1 and page.locator("#all b").all_text_contents()[-1] == "encoder.rollout"
    assert trace_page.pressed("#all button") == []  # the mean is shown
    before = trace_page.fills()
    small.nth(2).click()
    assert trace_page.fills() != before
    assert trace_page.pressed("#all button") == trace_page.pressed("#heads button") == ["head 1"]
    small.nth(0).click()
    assert page.locator("#name").input_value() == "0" and trace_page.pressed("#all button") == ["show"]
    pixel = "canvas => Array.from(canvas.getContext('2d').getImageData(0, 0, 1, 1).data)"
    assert page.eval_on_selector("#all canvas", pixel) == [11, 61, 145, 255]  # weight 1 in the upper left corner
    trace_page.check()


def test_in_a_notebook_the_page_works_in_its_frame(page: Any, tmp_path: Path) -> None:
    seen = Trace({"decoder.attention.weights": torch.eye(3)[None, None]}, SOURCE, INPUT, OUTPUT)
    (tmp_path / "notebook.html").write_text(
        f"<!doctype html><meta charset=utf-8>{seen._repr_html_()}", encoding="utf-8"
    )
    visit = Visit(page, tmp_path / "notebook.html")
    frame = page.frame_locator("iframe")
    assert frame.locator("#map rect").count() == 9
    frame.locator("#map rect").nth(4).hover()
    assert frame.locator("#tip").text_content() == "chat → <cat>: 1.000"
    assert [url for url in visit.requests if url != "about:srcdoc"] == [visit.address] and not visit.complaints


def test_the_tree_of_a_beam(page: Any, tmp_path: Path) -> None:
    letters = Tokenizer.train(["ab"], "character")
    a, b = letters.encode("ab")
    tree = BeamTree(((Node((a,), -0.1, None), Node((b,), -2.0, None)), (Node((a, EOS), -0.2, -0.1),)), (a, EOS))
    visit = Visit(page, save_tree(tmp_path / "tree.html", tree, letters, "x → a"))
    assert page.locator("g.best").count() == 3 and page.locator("g.pruned").count() == 1
    opacity = page.eval_on_selector("g.pruned", "node => getComputedStyle(node).opacity")
    assert float(opacity) < 0.5 and page.locator("path.best").count() == 2
    visit.check()
