"""Ctrl-C among lessons: the page of the finished ones stays, no process is left, no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

FAKES = '''
"""Two lessons: one is over at once, the other would take minutes."""
import signal, sys, time
from pathlib import Path

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts the tests in the background ignores it

import regard.apps.lessons
from regard.cli import main
from regard.apps.lessons import Finding, Lesson, Table, Verdict
from regard.apps.lessons.training import trained


def learn(settings):
    (Path("started") / str(time.monotonic_ns())).touch()
    with trained(settings):
        print("a half-trained model was used")


def short(budget):
    return Finding("done", (Table(("a",), (("1",),)),), ("<svg/>",), (Verdict("part", True, "by 2"),))


def long(budget):
    task = {"data": {"corpus": "copy"}, "model": {"preset": "rnn-fixed", "width": 16}, "training": {"steps": 10**6}}
    budget.pool.run("training", learn, [task] * 4)


if __name__ == "__main__":
    regard.apps.lessons.LESSONS = tuple(Lesson(run.__name__, "It is so.", "nobody", run) for run in (short, long))
    sys.exit(main(["lesson", "all", "--size", "tiny", "--out", "page.html", "--workers", sys.argv[1]]))
'''


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.05)


def gone(group: int) -> bool:
    """Whether no process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.skipif(os.name != "posix", reason="process groups")
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_leaves_the_page_and_no_process(workers: int, tmp_path: Path) -> None:
    script = tmp_path / "fakes.py"
    script.write_text(FAKES, encoding="utf-8")
    started, temporary = tmp_path / "started", tmp_path / "tmp"
    started.mkdir()
    temporary.mkdir()
    command = [sys.executable, str(script), str(workers)]
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        wait_for(lambda: len(list(started.iterdir())) >= workers or process.poll() is not None, "the second lesson")
        time.sleep(0.5)  # into the middle of it
        os.killpg(process.pid, signal.SIGINT)  # a terminal tells the whole group
        out, err = process.communicate(timeout=300)
        assert process.returncode == 130, err
        assert err == "the page: page.html\nregard: stopped\n"
        assert "verdict: holds" in out and "half-trained" not in out
        assert "It is so." in (tmp_path / "page.html").read_text(encoding="utf-8")
        wait_for(lambda: gone(process.pid), "the end of every child", 60)
        assert not [path for path in temporary.iterdir() if path.name.startswith("regard")]
    finally:
        if not gone(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
