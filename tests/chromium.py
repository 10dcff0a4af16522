"""Debian's chromium, driven by playwright; tests that need it are skipped where one of the two is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
PATIENCE = 15_000  # milliseconds


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'regard[dev]'")
    if CHROMIUM is None:
        pytest.skip("no chromium to open pages with: apt-get install chromium")
    with driver.sync_playwright() as tool:
        opened = tool.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=120_000)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    opened = browser.new_page()
    opened.set_default_timeout(PATIENCE)
    yield opened
    opened.close()
