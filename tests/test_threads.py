"""Threads: torch's number of them has one owner, pools, and torch set up deterministic and without a compiler."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from pathlib import Path

import pytest
import torch

import regard
from regard.threads import ThreadPool, check_cancelled, children_ignore_signals, limit_threads

SIZES = (1, 700, 1500, 3, 2100, 40, 800, 9)  # numbers in each tensor
SET_UP = """
import sys, torch
from regard.threads import configure_torch
assert configure_torch(1) == 1 and torch.are_deterministic_algorithms_enabled()
assert not torch.utils.deterministic.fill_uninitialized_memory
sys.exit("torch._inductor" in sys.modules)
"""


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a new process, in which the user has said nothing about waiting threads but `environment`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GOMP_", "OMP_"))}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=inherited | environment
    )


def test_kernels_are_deterministic_and_no_compiler_is_loaded() -> None:
    done = python(SET_UP)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="libgomp")
@pytest.mark.parametrize(
    ("code", "chosen", "spin_count"),
    [
        ("import regard, torch", {}, regard.SPIN_COUNT),
        ("import regard.cli, torch", {}, regard.SPIN_COUNT),
        ("import regard, torch", {"GOMP_SPINCOUNT": "77"}, "77"),
        ("import regard, torch", {"OMP_WAIT_POLICY": "PASSIVE"}, "0"),
    ],
)
def test_waiting_threads_spin_briefly_unless_the_user_chose(code: str, chosen: dict[str, str], spin_count: str) -> None:
    """OMP_DISPLAY_ENV makes libgomp print what it read."""
    done = python(code, OMP_DISPLAY_ENV="verbose", **chosen)
    assert done.returncode == 0
    assert f"GOMP_SPINCOUNT = '{spin_count}'" in done.stderr


def test_the_environment_is_left_alone_where_torch_is_loaded() -> None:
    done = python("import os, torch, regard; raise SystemExit('GOMP_SPINCOUNT' in os.environ)")
    assert done.returncode == 0


def test_only_one_module_sets_torchs_threads() -> None:
    root = Path(regard.__file__).parent
    users = [
        str(path.relative_to(root)) for path in root.rglob("*.py") if "set_num_threads(" in path.read_text("utf-8")
    ]
    assert users == ["threads.py"]


@pytest.mark.parametrize("count", [None, 1, 3])
def test_the_number_of_threads_is_restored_whatever_sets_it(count: int | None) -> None:
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), limit_threads(count):
        assert torch.get_num_threads() == (count or before)
        torch.set_num_threads(2)
        1 / 0  # noqa: B018
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_tensors_are_shared_out_evenly(workers: int) -> None:
    tensors = [torch.zeros(size) for size in SIZES]
    shares = ThreadPool(workers).partition(tensors)
    assert sorted(index for share in shares for index in share) == list(range(len(SIZES)))
    assert len(shares) == min(workers, len(SIZES))
    sizes = [sum(tensors[index].numel() for index in share) for share in shares]
    assert max(sizes) <= max(2100, sum(sizes) / len(sizes) * 1.5), "no more than the largest, or about an even share"
    assert ThreadPool(workers).partition([]) == []


@pytest.mark.parametrize("workers", [1, 3])
def test_results_are_in_the_order_of_tasks_and_a_failure_is_raised(workers: int) -> None:
    with ThreadPool(workers) as pool:
        assert pool.run(lambda number=number: number**2 for number in range(20)) == [n**2 for n in range(20)]
        with pytest.raises(ZeroDivisionError):
            pool.run([lambda: 1 // 0, lambda: 1])


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_have_their_own_number_of_threads(workers: int) -> None:
    before = torch.get_num_threads()
    with ThreadPool(workers, 3) as pool:
        assert pool.run([torch.get_num_threads] * 4) == [3] * 4
    assert torch.get_num_threads() == before
    later: list[int] = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert later == [before], "threads that start later have as many as before"


def test_leaving_a_pool_cancels_its_tasks() -> None:
    started, ends = threading.Event(), []

    def long() -> None:
        started.set()
        try:
            while True:
                check_cancelled()
                time.sleep(0.001)
        except CancelledError:
            ends.append("cancelled")
            raise

    def waiting() -> None:
        ends.append("started")

    with pytest.raises(KeyboardInterrupt), ThreadPool(2) as pool:
        tasks: list[Callable[[], None]] = [long, long, waiting]
        pool.imap(tasks)
        started.wait(60)
        raise KeyboardInterrupt
    assert set(ends) == {"cancelled"}, "what had not started never does"
    check_cancelled()  # outside a pool it does nothing


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_children_ignore_the_signals_that_their_parent_handles() -> None:
    code = "import signal; print(*(signal.getsignal(n) is signal.SIG_IGN for n in (signal.SIGINT, signal.SIGTERM)))"
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with children_ignore_signals():
        assert python(code).stdout.split() == ["True", "True"]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
