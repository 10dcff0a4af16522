"""Busy processes always end, systems take turns beside each number of them, and the table compares."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import busy
import pytest
from _environments import LeftOutError

PROC = Path("/proc")
linux = pytest.mark.skipif(not PROC.is_dir(), reason="Linux alone has it")


def children(parent: int) -> list[int]:
    """Those that have not ended."""
    found = []
    for status in PROC.glob("[0-9]*/stat"):
        try:
            state, ppid = status.read_text(encoding="utf-8").rpartition(")")[2].split()[:2]
        except OSError:  # it has just ended
            continue
        if int(ppid) == parent and state != "Z":
            found.append(int(status.parent.name))
    return found


@linux
@pytest.mark.parametrize("count", [0, 2])
def test_busy_processes_run_and_end_after_an_error(count: int) -> None:
    before = set(children(os.getpid()))
    with pytest.raises(KeyboardInterrupt), busy.busy(count):
        started = set(children(os.getpid())) - before
        assert len(started) == count
        raise KeyboardInterrupt
    assert not set(children(os.getpid())) & started


@linux
def test_busy_processes_end_when_their_parent_is_killed() -> None:
    folder = Path(busy.__file__).parent
    code = f"""
import sys, time
sys.path.insert(0, {str(folder)!r})
import busy
with busy.busy(1):
    print("ready", flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None and parent.stdout.readline() == "ready\n"
        (loop,) = children(parent.pid)
        parent.kill()
        parent.wait()
        end = time.monotonic() + 60
        while (PROC / str(loop)).exists() and time.monotonic() < end:
            time.sleep(0.05)
        assert not (PROC / str(loop)).exists()


def test_systems_take_turns_and_who_fails_leaves_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[str] = []

    def system(name: str) -> float:
        calls.append(name)
        if name == "dying" and len(calls) > 3:
            raise LeftOutError("it died")
        return float(len(calls))

    speeds = busy.measure({name: lambda name=name: system(name) for name in ("regard", "dying")}, [0, 1], 2)
    assert calls == ["regard", "dying", "regard", "dying", "regard", "regard"]
    assert speeds == {"regard": {0: [1.0, 5.0], 1: [3.0, 6.0]}}
    assert capsys.readouterr().err == "dying is left out: it died\n"


def test_the_table_compares_with_idle_and_with_the_best_peer() -> None:
    speeds: busy.Speeds = {
        "regard, torch": {0: [100.0, 120.0, 110.0], 1: [50.0, 90.0, 88.0]},
        "slow": {0: [10.0, 11.0, 12.0], 1: [1.0, 1.1, 1.2]},
        "fast": {0: [55.0, 55.0, 55.0], 1: [22.0, 22.0, 11.0]},
    }
    lines = list(busy.table(speeds, [0, 1], "tokens/s"))
    assert lines[0] == (
        "| system | 0 busy: tokens/s | 1 busy: tokens/s | kept | 0 busy: of the best peer | 1 busy: of the best peer |"
    )
    assert lines[1].count("---:|") == 5
    assert lines[2] == ("| regard, torch | 110 (100 to 120) | 88 (50 to 90) | 75% (50% to 80%) | 2.00 × | 4.00 × |")
    assert lines[4].endswith("| 40% (20% to 40%) | 1.00 × | 1.00 × |")
    assert list(busy.table({"regard": speeds["slow"]}, [0, 1], "x"))[2].endswith("| – | – |")
