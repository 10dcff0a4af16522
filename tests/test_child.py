"""Children import this regard, and nothing of the directory in which a user stands."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from regard.apps.lessons.worker_pool import WorkerPool
from regard.child import python_command

HOSTILE = "from pathlib import Path; Path({marker!r}).touch(); raise SystemExit('code of the directory was run')"


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with folders that are named as modules; the file that their code would leave."""
    folder, file = tmp_path / "downloaded", tmp_path / "executed"
    for name in ("regard", "multiprocessing", "torch", "json", "pip"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(HOSTILE.format(marker=str(file)))
    monkeypatch.chdir(folder)
    return file


def test_a_command_runs_no_code_of_the_directory(marker: Path) -> None:
    code = "import json, multiprocessing.spawn, regard.errors; print(regard.errors.__file__)"
    done = subprocess.run(python_command(code), capture_output=True, text=True, check=True)
    assert "downloaded" not in done.stdout and not marker.exists()


def double(number: int) -> int:
    return 2 * number


def test_workers_of_lessons_run_no_code_of_the_directory(marker: Path) -> None:
    with WorkerPool(2) as pool:
        assert pool.run("double", double, [1, 2, 3]) == [2, 4, 6]
    assert not marker.exists()
