"""The screens in the documentation, from the real page: docs_screens.py DATES RECURRENT SHAPES.

It writes docs/images/page-*.png. The three are run directories: a Transformer and a recurrent model with attention on
dates, and a captioner on shapes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from regard.data.embedded.scene import draw, parse
from regard.pipeline import load

IMAGES = Path(__file__).parents[2] / "docs" / "images"
TEXT = "text=Saturday%2C%20August%2015%2C%201992"
WIDE, TALL, NARROW = ({"width": width, "height": height} for width, height in ((1200, 780), (1200, 1180), (390, 780)))
COLOURS = 96  # of a palette: a fifth of the bytes


def shoot(page: Page, name: str) -> None:
    page.wait_for_selector("[aria-busy]", state="detached")
    page.wait_for_timeout(300)
    image = Image.open(BytesIO(page.screenshot())).convert("RGB").quantize(COLOURS)
    image.save(IMAGES / f"page-{name}.png", optimize=True)


def attention(page: Page) -> None:
    page.locator(".lines text.large", has_text="août").hover()
    shoot(page, "attention")


def another_word(page: Page) -> None:
    page.locator("button.token").nth(1).click()
    shoot(page, "alternatives")


def what_if(page: Page) -> None:
    page.get_by_role("button", name="hide “August” from the model").click()
    page.get_by_role("button", name="uniform", exact=True).click()
    shoot(page, "what-if")


def two(page: Page) -> None:
    page.get_by_role("button", name="Compare").click()
    shoot(page, "two")


def search(page: Page) -> None:
    page.locator("svg.tree").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    shoot(page, "search")


def picture(page: Page, file: Path) -> None:
    page.set_input_files("#file", file)
    page.locator(".word-thumb").nth(2).click()
    page.evaluate("scrollTo(0, 0)")
    shoot(page, "picture")


def drive(address: str, names: list[str], scene: Path) -> None:
    dates, _, shapes = names
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])

        def opened(fragment: str, **options: Any) -> Page:
            page = browser.new_page(viewport=options.pop("viewport", WIDE), **options)
            page.goto(f"{address}/#{fragment}")
            page.wait_for_selector(".model-panel")
            page.wait_for_timeout(500)
            page.wait_for_selector("[aria-busy]", state="detached")
            return page

        attention(opened(f"model={dates}&{TEXT}"))
        another_word(opened(f"model={dates}&{TEXT}"))
        what_if(opened(f"model={dates}&{TEXT}", color_scheme="dark"))
        two(opened(f"model={dates}&{TEXT}", viewport=TALL))
        search(opened(f"model={dates}&{TEXT}&view=search&beams=4"))
        picture(opened(f"model={shapes}"), scene)
        shoot(opened(f"model={dates}&{TEXT}", viewport=NARROW), "phone")
        browser.close()


def main(runs: list[str]) -> None:
    command = [sys.executable, "-m", "regard", "serve", *runs, "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        assert server.stderr is not None
        address = next(found[0] for line in server.stderr if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        with tempfile.TemporaryDirectory() as folder:
            scene = Path(folder) / "scene.png"
            Image.fromarray(draw(parse(load(runs[2]).examples()[3].source), 160)).save(scene)
            drive(address, [Path(run).resolve().name for run in runs], scene)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
