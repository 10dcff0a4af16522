"""A trained translator, loaded once."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard


@pytest.fixture(scope="package")
def translator(translator_run: Path) -> regard.Pipeline:
    return regard.load(translator_run, threads=1)
