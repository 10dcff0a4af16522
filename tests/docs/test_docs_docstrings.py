"""Examples in docstrings run: those after `>>>`, and those set off as lines of code in the two public doors."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import shutil
from pathlib import Path

import pytest

import regard
from regard.experiment import train

MODULES = [found.name for found in pkgutil.walk_packages(regard.__path__, "regard.") if "__main__" not in found.name]


def example(docstring: str | None) -> str:
    """The last paragraph of a docstring, as code."""
    lines = (docstring or "").rstrip().rpartition("\n\n")[2].splitlines()
    return "\n".join(line.strip() for line in lines)


@pytest.mark.parametrize("name", MODULES)
def test_prompted_examples(name: str, desk: Path) -> None:
    assert doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS).failed == 0


def test_the_package_shows_how_to_use_a_run(desk: Path, dates_run: Path) -> None:
    shutil.copytree(dates_run, desk / "runs" / "dates")
    code = example(regard.__doc__)
    assert "regard.load" in code
    exec(code, {"regard": regard})
    assert (desk / "map.svg").is_file()


def test_train_shows_how_to_be_called(desk: Path) -> None:
    code = example(train.__doc__)
    assert code.startswith("train(")
    assert eval(code, {"train": train}).status == "finished"
