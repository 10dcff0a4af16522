"""One process at a time trains into a directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard.checkpoint import LOCK
from regard.errors import UserError
from regard.experiment.run_lock import RunLock

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files are not locked on Windows")


def test_the_second_is_told_who_holds_it(tmp_path: Path) -> None:
    with RunLock(tmp_path / "run"):
        with (
            pytest.raises(UserError, match=rf"run: process {os.getpid()} on .* \(since 20") as caught,
            RunLock(tmp_path / "run"),
        ):
            pass
        assert "\n" not in str(caught.value)
    with RunLock(tmp_path / "run"):
        pass
    assert not (tmp_path / "run" / LOCK).exists()


def test_a_process_that_is_killed_leaves_no_lock(tmp_path: Path) -> None:
    code = f"""
import os, signal
from pathlib import Path
from regard.experiment.run_lock import RunLock
with RunLock(Path({str(tmp_path)!r})):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert (tmp_path / LOCK).is_file()
    with RunLock(tmp_path):
        pass


def test_a_folder_that_stays_empty_is_taken_away_again(tmp_path: Path) -> None:
    with pytest.raises(UserError), RunLock(tmp_path / "run"):
        raise UserError("nothing to train")
    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot be written"), RunLock(tmp_path / "file" / "run"):
        pass
