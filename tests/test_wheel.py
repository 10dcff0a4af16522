"""The wheel: built from the checkout, it runs from a folder of its own, with types, recipes and pages in it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    environment = {**os.environ, **variables}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--quiet")
    run(*pip, "--wheel-dir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("regard-*.whl")
    return built


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    tracked = run("git", "ls-files", "regard", cwd=ROOT).split()
    assert "regard/py.typed" in tracked
    assert set(tracked) <= set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.slow
def test_the_wheel_runs_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    pip = (sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", "--target", installed)
    run(*pip, wheel, cwd=tmp_path)
    where = run(sys.executable, "-c", "import regard; print(regard.__file__)", cwd=tmp_path, PYTHONPATH=str(installed))
    assert Path(where.strip()) == installed / "regard" / "__init__.py"
    assert (installed / "regard" / "py.typed").is_file()
    program = installed / "bin" / "regard"
    assert "train" in run(sys.executable, program, "--help", cwd=tmp_path, PYTHONPATH=str(installed))
    assert "dates" in run(sys.executable, program, "data", "list", cwd=tmp_path, PYTHONPATH=str(installed))
