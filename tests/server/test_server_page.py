"""The page in a real browser, before a real server: it shows what the models say, and asks nobody else."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image

import regard
from regard.data.fetch import npm
from regard.errors import UserError
from regard.pipeline import Result
from regard.pipeline.text_model import TextModel

HOSTILE = "<img src=x onerror=alert(1)>\u202e</script>&amp;\x07"
CROSS = "decoder.layers.0.cross_attention"


@pytest.fixture(scope="module")
def bottleneck_run(tiny_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    training = {"steps": 80, "rate": 5e-3, "warmup_steps": 10, "batch_tokens": 512}
    data = {"corpus": "copy", "lengths": "1-4"}
    return tiny_run(tmp_path_factory.mktemp("runs") / "bottleneck", "rnn-fixed", data, {"width": 32}, training)


@pytest.fixture(scope="module")
def shapes_run(tiny_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = {"corpus": "shapes", "examples": 40, "dev_examples": 8, "test_examples": 8}
    return tiny_run(tmp_path_factory.mktemp("runs") / "shapes", "image-lstm", data, training={"steps": 4})


@pytest.fixture(scope="module")
def served(
    serving: Callable[..., Any], translator_run: Path, bottleneck_run: Path, shapes_run: Path, classifier_run: Path
) -> Iterator[Any]:
    with serving([translator_run, bottleneck_run, shapes_run, classifier_run]) as server:
        yield server


@pytest.fixture(scope="module")
def translator(translator_run: Path) -> regard.Pipeline:
    return regard.load(translator_run)


class PageVisit:
    """The page, opened; and all that it asked for or complained about."""

    def __init__(self, page: Any, server: Any) -> None:
        self.page, self.server = page, server
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, fragment: str = "model=copy") -> PageVisit:
        self.page.goto(f"{self.server.url}/#{fragment}")
        self.page.wait_for_selector(".model-panel")
        return self

    def type(self, text: str) -> PageVisit:
        self.page.locator("textarea").press_sequentially(text)
        return self.settled()

    def settled(self) -> PageVisit:
        """Nothing is under way: the text has been asked for, and each model has answered."""
        self.page.wait_for_timeout(200)  # longer than the pause after a key
        self.page.wait_for_selector("[aria-busy]", state="detached")
        return self

    def output(self, panel: int = 0) -> str:
        tokens = self.page.locator(".model-panel").nth(panel).locator(".sentence.output .token:not(.mark)")
        return "".join(tokens.all_text_contents())

    def check(self) -> None:
        origin = self.server.url + "/"
        strange = [url for url in self.requests if not url.startswith((origin, "data:image/png", f"blob:{origin}"))]
        assert not strange and not self.complaints


@pytest.fixture
def visit(page: Any, served: Any) -> PageVisit:
    return PageVisit(page, served)


def test_the_files_and_their_policy(served: Any) -> None:
    index = served.get("/")
    assert index.status == 200 and index.headers["content-type"] == "text/html; charset=utf-8"
    policy = index.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe" not in policy
    assert not re.search(rb"<script(?![^>]*src=)|<style|\son\w+=", index.body)  # nothing inline
    for name in re.findall(rb'(?:src|href)="(page/[^"]+)"', index.body):
        file = served.get(f"/{name.decode()}")
        assert file.status == 200
        assert served.get(f"/{name.decode()}", **{"if-none-match": file.headers["etag"]}).status == 304
    assert served.get("/page/secrets.js").status == served.get("/page/..%2Frouter.py").status == 404


def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that takes its time for each token, as large ones do."""
    stream = TextModel.stream

    def slow(*arguments: Any, **named: Any) -> Iterator[Result]:
        for result in stream(*arguments, **named):
            time.sleep(0.1)
            yield result

    monkeypatch.setattr(TextModel, "stream", slow)


def test_the_output_grows_while_one_types(
    visit: PageVisit, translator: regard.Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch)
    visit.page.add_init_script(
        "window.grown = []; new MutationObserver(() => { const now = document.querySelector('.growing');"
        "if (now) window.grown.push(now.textContent) }).observe(document, {childList: true, subtree: true})"
    )
    visit.open().type("abcd")
    assert visit.output() == translator.translate("abcd").text
    grown = visit.page.evaluate("window.grown")
    assert list(dict.fromkeys(grown))[-4:] == ["a", "ab", "abc", "abcd"]
    probability = visit.page.locator("button.token").first.get_attribute("title")
    assert re.fullmatch(r"a: 9\d %|a: 100 %", probability)
    visit.check()


def test_another_word_is_chosen_and_the_rest_rewritten(visit: PageVisit, translator: regard.Pipeline) -> None:
    visit.open().type("abc")
    visit.page.locator("button.token").nth(1).click()
    rival = visit.page.locator("button.alternative").filter(has_not_text="‹").first
    letter = rival.locator("bdi").text_content()
    rival.click()
    visit.settled()
    assert visit.output() == translator.translate("abc", prefix=f"a{letter}").text != "abc"
    assert visit.page.locator(".token.differs").count() >= 1 and "abc" in visit.page.locator(".before").text_content()
    visit.page.get_by_role("button", name="undo: a word chosen by hand").click()
    visit.settled()
    assert visit.output() == "abc" and visit.page.locator(".before").count() == 0
    visit.check()


def test_a_head_off_an_attention_uniform_a_word_hidden(visit: PageVisit, translator: regard.Pipeline) -> None:
    visit.open().type("ab cd")
    page = visit.page
    page.get_by_role("button", name="head 1", exact=True).click()
    page.get_by_role("button", name="off", exact=True).click()
    visit.settled()
    assert visit.output() == "".join(translator.without(f"{CROSS}.1").translate("ab cd").text)
    assert page.evaluate("document.activeElement.textContent") == "off"  # the keyboard is where it was
    assert page.locator(".thumb.silent").count() == 1 and page.locator(".changes li").count() == 1
    page.get_by_role("button", name="mean", exact=True).click()
    page.get_by_role("button", name="uniform", exact=True).click()
    visit.settled()
    changed = translator.changed(silence=[f"{CROSS}.1"], uniform=[CROSS])
    assert visit.output() == changed.translate("ab cd").text
    page.get_by_role("button", name="undo all").click()
    visit.settled()
    page.get_by_role("button", name="hide “cd” from the model").click()
    visit.settled()
    assert visit.output() == translator.changed(hide=[1]).translate("ab cd").text
    assert page.locator("del").text_content() == "cd" and "“cd” hidden" in page.locator(".changes").text_content()
    visit.check()


def test_two_models_side_by_side(visit: PageVisit, bottleneck_run: Path) -> None:
    visit.open().type("abc")
    visit.page.get_by_role("button", name="Compare").click()
    visit.settled()
    assert visit.page.get_by_label("model 2").input_value() == "bottleneck"
    assert visit.output(1) == regard.load(bottleneck_run).translate("abc").text
    assert "through one vector" in visit.page.locator(".model-panel").nth(1).locator(".bottleneck").text_content()
    first, second = (visit.page.locator(".model-panel").nth(index).bounding_box() for index in (0, 1))
    assert first["y"] == second["y"] and first["x"] + first["width"] <= second["x"]
    visit.page.get_by_role("button", name="remove copy").click()
    visit.settled()
    assert (
        visit.page.locator(".model-panel").count() == 1
        and visit.page.get_by_label("model", exact=True).input_value() == "bottleneck"
    )
    visit.check()


def test_the_beam_is_stepped_through(visit: PageVisit, translator: regard.Pipeline) -> None:
    assert isinstance(translator, regard.Translator)
    visit.open("model=copy&text=abc&view=search&beams=3").settled()
    tree = translator.view_tree("abc", translator.search_with(beams=3))
    assert visit.page.locator("g.node").count() == 1 + sum(map(len, tree.steps))
    visit.page.locator("svg.tree").focus()
    for key in ("Home", "ArrowRight", "ArrowDown"):
        visit.page.keyboard.press(key)
    node = tree.steps[0][1]
    assert visit.page.locator(".detail").text_content().startswith(f"{node.text} — log-probability {node.log_prob:.3f}")
    visit.check()


def test_a_picture_is_dropped(visit: PageVisit) -> None:
    visit.open("model=shapes")
    assert visit.page.locator("textarea").is_hidden()
    content = BytesIO()
    Image.new("RGB", (80, 60), (200, 40, 40)).save(content, "PNG")
    dropped = visit.page.evaluate_handle(
        """data => { const transfer = new DataTransfer();
        const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
        transfer.items.add(new File([bytes], 'red.png', {type: 'image/png'})); return transfer }""",
        base64.b64encode(content.getvalue()).decode(),
    )
    visit.page.dispatch_event("main", "drop", {"dataTransfer": dropped})
    visit.settled()
    words = visit.page.locator(".word-thumb")
    assert words.count() >= 1 and visit.page.locator("svg.image > .veil").count() == 64
    words.first.click()
    assert "cell" in visit.page.locator(".status").text_content()
    caption = visit.output()
    visit.page.locator("svg.image > .veil").nth(9).click()  # covered
    visit.settled()
    assert (
        visit.page.locator(".cover").count() == 1 and "cell 9 hidden" in visit.page.locator(".changes").text_content()
    )
    visit.page.get_by_role("button", name="undo: cell 9 hidden").click()
    visit.settled()
    assert visit.output() == caption
    visit.page.locator("button.token").first.click()
    rival = visit.page.locator("button.alternative").filter(has_not_text="‹").first
    word = rival.locator("bdi").text_content()
    rival.click()
    visit.settled()
    assert visit.output().startswith(word) and visit.page.get_by_text("Unchanged, the model says").count() == 1
    visit.page.get_by_role("button", name="undo: a word chosen by hand").click()
    visit.settled()
    visit.page.get_by_role("button", name="Beam search").click()
    visit.settled()
    assert visit.page.locator("g.node").count() > 3
    visit.check()


def test_a_text_that_is_continued(visit: PageVisit, language_run: Path, served: Any, serving: Any) -> None:
    with serving([language_run]) as server:
        visit.server = server
        visit.open("model=prose&text=The%20").settled()
        expected = regard.load(language_run).translate("The ")
        assert visit.page.locator("[data-side=output]:not(button)").all_text_contents()[:1] == ["T"]
        assert visit.page.locator("button.token").count() == len(expected.tokens) + expected.finished
        assert "no attention to show" in visit.page.locator(".bottleneck").text_content()
        visit.check()


def test_classes_with_their_probabilities(visit: PageVisit, classifier_run: Path) -> None:
    visit.open("model=languages").type("a house")
    found = regard.load(classifier_run).translate("a house")
    assert visit.output() == found.text
    visit.page.locator("button.token").click()
    assert visit.page.locator(".alternatives li bdi").first.text_content() == found.text
    assert visit.page.locator("button.alternative").count() == 0  # a class has no rest to rewrite
    visit.check()


def test_a_link_restores_models_text_and_view(visit: PageVisit, browser: Any, served: Any) -> None:
    visit.open().type("abc")
    visit.page.get_by_role("button", name="head 1", exact=True).click()
    visit.page.get_by_role("button", name="off", exact=True).click()
    visit.page.get_by_role("button", name="Compare").click()
    visit.settled()
    other = PageVisit(browser.new_page(), served)
    other.page.goto(visit.page.url)
    other.page.wait_for_selector(".model-panel")
    other.settled()
    assert other.page.locator("textarea").input_value() == "abc"
    for panel in (0, 1):
        assert other.output(panel) == visit.output(panel)
    assert other.page.get_by_role("button", name="head 1", exact=True).get_attribute("aria-pressed") == "true"
    assert f"{CROSS}.1 off" in other.page.locator(".changes").first.text_content()
    other.page.evaluate("location.hash = '#model=bottleneck&text=d'")
    other.page.wait_for_selector(".panels:not(.two)")
    assert other.page.locator("textarea").input_value() == "d"
    other.page.evaluate("location.hash = '#model=gone&head=x&hide=1,y,-3&beams=<b>'")
    other.page.get_by_text("not served here").wait_for()
    other.check()
    other.page.close()


def test_a_page_is_saved_and_works_without_a_server(visit: PageVisit, browser: Any, tmp_path: Path) -> None:
    visit.open().type(f"abc{HOSTILE}")
    with visit.page.expect_download() as saved:
        visit.page.get_by_role("button", name="Save page").click()
    saved.value.save_as(tmp_path / "saved.html")
    assert saved.value.suggested_filename == "regard-copy.html"
    other = browser.new_page(offline=True)
    other.goto((tmp_path / "saved.html").as_uri())
    shown = "".join(other.locator(".sentence.output .token:not(.mark)").all_text_contents())
    assert shown == visit.output() and other.locator(".heat-map").count() == 1
    other.close()


def test_hostile_text_is_shown_as_text(visit: PageVisit) -> None:
    visit.open(f"model=copy&text={quote(HOSTILE)}").settled()
    source = "".join(visit.page.locator("[data-side=source]").all_text_contents())
    assert "⟨U+0007⟩" in source and "\u202e" not in visit.page.locator("main").text_content()
    assert visit.page.locator("main img").count() == 0
    assert visit.page.locator(".before").text_content().startswith("As text: <img src=x onerror=alert(1)>")
    visit.check()


def test_what_the_server_refuses_is_said(page: Any, serving: Callable[..., Any], translator_run: Path) -> None:
    with serving([translator_run], keys=["open sesame"]) as server:
        visit = PageVisit(page, server)
        page.goto(server.url)
        page.get_by_label("This server asks for an API key").fill("open sesame")
        page.get_by_role("button", name="Go on").click()
        page.wait_for_selector(".model-panel")
        visit.type("abc")
        assert visit.output() == "abc"
        page.locator("textarea").fill("a" * 200_000)
        visit.settled()
        assert page.locator(".model-panel [role=alert]").text_content()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_nothing_serious_for_a_screen_reader(browser: Any, served: Any, scheme: str, width: int) -> None:
    """axe-core, on the page with everything open."""
    axe = axe_core()
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True)
    visit = (
        PageVisit(page, served).open(f"model=copy&text=ab%20cd&model.2=bottleneck&silence={CROSS}.1&hide=1").settled()
    )
    page.locator("button.token").first.click()
    page.get_by_text("The weights as a table").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    _accessible(page, axe)
    visit.open("model=copy&text=abc&view=search").settled()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    _accessible(page, axe)
    page.close()


def _accessible(page: Any, axe: str) -> None:
    page.evaluate(axe)
    violations = page.evaluate("axe.run()")["violations"]
    assert not [(one["id"], one["nodes"][0]["html"]) for one in violations if one["impact"] in ("serious", "critical")]


def axe_core() -> str:
    try:
        package = npm.package("axe-core", Path.home() / ".cache" / "regard" / "npm", print)
    except UserError as error:
        pytest.skip(f"axe-core: {error}")
    ((_, content),) = npm.members(package, ("axe.min.js",))
    return content.decode()
