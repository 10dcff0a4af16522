from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from _memory import PROC, peak_mebibytes


def _process(proc: Path, number: int, parent: int, peak: int, file: int, shared: int) -> None:
    """Sizes in MiB."""
    sizes = {"VmHWM": peak, "RssFile": file, "RssShmem": shared}
    lines = [f"Name:\tpython {number}", f"PPid:\t{parent}", *(f"{k}:\t {1024 * v} kB" for k, v in sizes.items())]
    (proc / str(number)).mkdir()
    (proc / str(number) / "status").write_text("\n".join(lines), encoding="utf-8")


def test_what_is_mapped_counts_once_and_the_rest_of_all_descendants(tmp_path: Path) -> None:
    _process(tmp_path, 10, parent=1, peak=500, file=100, shared=50)
    assert peak_mebibytes(10, tmp_path) == 500  # alone: its peak
    _process(tmp_path, 11, parent=10, peak=400, file=90, shared=30)
    _process(tmp_path, 12, parent=11, peak=20, file=15, shared=0)
    _process(tmp_path, 13, parent=1, peak=9999, file=0, shared=0)  # somebody else's
    assert peak_mebibytes(10, tmp_path) == 350 + 280 + 5 + 100 + 50


def test_without_proc_it_is_not_known(tmp_path: Path) -> None:
    assert math.isnan(peak_mebibytes(10, tmp_path))


@pytest.mark.skipif(not PROC.is_dir(), reason="Linux alone has it")
def test_a_child_is_counted_while_it_lives() -> None:
    alone = peak_mebibytes(os.getpid())
    code = "whole = b'1' * (64 << 20); print('ready', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        assert peak_mebibytes(os.getpid()) > alone + 60
        child.communicate("\n")
    assert alone > 10
