"""Every script says what it is, and what it measured on."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(path for path in FOLDER.glob("*.py") if not path.name.startswith("_"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_answers_help(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", [str(path), "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert ended.value.code == 0
    assert "usage" in capsys.readouterr().out


@pytest.mark.parametrize(
    "path", [script for script in SCRIPTS if script.name != "multi30k.py"], ids=lambda path: path.name
)
def test_every_table_says_what_was_measured_on(path: Path) -> None:
    """`platform.processor()` is empty on Linux: the header comes from one place."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    assert "machine" in {
        node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "platform" not in {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
