"""CPU threads: how many torch has, a pool of threads, signals; and torch set up so that equal runs give equal bits.

torch's number of threads is set here and nowhere else.
"""

from __future__ import annotations

import ctypes
import hashlib
import platform
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

import torch
from torch import Tensor

Result = TypeVar("Result")

KEPT_BYTES = 2**31 - 1  # the largest value that mallopt accepts


def configure_torch(threads: int | None = None) -> int:
    """Set the CPU threads (None: torch's own choice, all cores) and deterministic kernels; return the threads in use.

    The number of threads decides in which order sums are taken, so equal bits need equal threads.
    """
    if threads is not None:
        set_threads(threads)
    _keep_memory()
    torch.set_deterministic_debug_mode("error")  # use_deterministic_algorithms would import a compiler: 1.7 s of CPU
    # only a debugging aid, and it costs time
    torch.utils.deterministic.fill_uninitialized_memory = False  # pyrefly: ignore[missing-attribute]
    torch.set_flush_denormal(True)  # denormal moments of Adam would slow a CPU down tenfold
    return torch.get_num_threads()


def set_threads(count: int) -> None:
    """The number of torch's threads for operations that this thread calls, and for threads that start later."""
    torch.set_num_threads(count)


@contextmanager
def limit_threads(count: int | None = None) -> Iterator[None]:
    """Set torch's threads to `count` inside (None: unchanged) and restore the number after, whatever else sets it:
    OpenMP has one number for all libraries that use it."""
    before = torch.get_num_threads()
    if count is not None and count != before:
        set_threads(count)
    try:
        yield
    finally:
        set_threads(before)


def _keep_memory() -> None:
    """Make glibc keep freed memory: returning it and faulting it in again costs time in every step of training."""
    trim_threshold, mmap_threshold = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of <malloc.h>
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(trim_threshold, KEPT_BYTES)
        libc.mallopt(mmap_threshold, KEPT_BYTES)


def seed_step(seed: int, step: int, rank: int = 0) -> None:
    """Seed torch from (seed, step) alone: dropout of a step never depends on what ran before, so resuming is exact.

    Ranks that share a step draw different numbers.
    """
    name = f"{seed}/{step}/{rank}" if rank else f"{seed}/{step}"
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    torch.manual_seed(int.from_bytes(digest, "little") >> 1)


_worker = threading.local()


def check_cancelled() -> None:
    """Long work calls this now and then: in a worker of a pool that has been left, and in `cancellable` work that is
    no longer wanted, it raises CancelledError."""
    if any(event.is_set() for event in _cancelling()):
        raise CancelledError


def _cancelling() -> tuple[threading.Event, ...]:
    """The events that cancel the work of this thread."""
    return getattr(_worker, "cancelling", ())


@contextmanager
def cancellable(event: threading.Event) -> Iterator[None]:
    """Work inside, in this thread and in pools that it opens, ends with CancelledError when the event is set."""
    before = _cancelling()
    _worker.cancelling = (*before, event)
    try:
        yield
    finally:
        _worker.cancelling = before


def serving_thread(threads: int) -> ThreadPoolExecutor:
    """One thread that does all the work of a server, with `threads` of torch's own."""
    return ThreadPoolExecutor(1, "decoding", _start_worker, (threads,))


class ThreadPool:
    """Worker threads, each with `torch_threads` of torch's own. A pool of one worker runs tasks in the caller."""

    def __init__(self, workers: int, torch_threads: int = 1) -> None:
        self.workers = workers
        self._cancelled = threading.Event()
        settings = (torch_threads, self._cancelled, *_cancelling())
        self._executor = ThreadPoolExecutor(workers, "worker", _start_worker, settings) if workers > 1 else None
        self._torch_threads = torch_threads
        self._threads_before = torch.get_num_threads()

    def __enter__(self) -> Self:
        if self._executor is None and self._torch_threads != self._threads_before:
            set_threads(self._torch_threads)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Tasks that have not started never do; running ones end where they call `check_cancelled`."""
        if self._executor is None:
            if self._torch_threads != self._threads_before:
                set_threads(self._threads_before)
            return
        self._cancelled.set()
        try:
            self._executor.shutdown(cancel_futures=True)
        finally:
            set_threads(self._threads_before)  # torch gives the number set last to threads that start later

    def run(self, tasks: Iterable[Callable[[], Result]]) -> list[Result]:
        """The result of each task, in their order."""
        return list(self.imap(tasks))

    def imap(self, tasks: Iterable[Callable[[], Result]]) -> Iterator[Result]:
        """The same one by one, while later tasks are running."""
        if self._executor is None:
            return (task() for task in tasks)
        return self._executor.map(lambda task: task(), tasks)

    def partition(self, tensors: Sequence[Tensor]) -> list[list[int]]:
        """The indices of all tensors in one share a worker, of about as many numbers each; no share is empty."""
        shares: list[list[int]] = [[] for _ in range(min(self.workers, len(tensors)))]
        sizes = [0] * len(shares)
        for index in sorted(range(len(tensors)), key=lambda index: -tensors[index].numel()):
            smallest = sizes.index(min(sizes))
            shares[smallest].append(index)
            sizes[smallest] += tensors[index].numel()
        return [share for share in shares if share]


def _start_worker(torch_threads: int, *cancelling: threading.Event) -> None:
    """torch keeps these settings for each thread."""
    _worker.cancelling = cancelling
    set_threads(torch_threads)
    torch.set_flush_denormal(True)


# Ctrl-C, a polite kill, and a terminal that is closed or a connection that is lost; Windows has no SIGHUP
SIGHUP = getattr(signal, "SIGHUP", None)
STOP_SIGNALS = tuple(number for number in (signal.SIGINT, signal.SIGTERM, SIGHUP) if number is not None)


@contextmanager
def children_ignore_signals() -> Iterator[None]:
    """Processes started inside ignore signals to stop: Ctrl-C reaches a whole group, and the parent ends them."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Interrupt:
    """SIGINT (Ctrl-C), SIGTERM or SIGHUP inside this context only sets `asked`, so that a step is never cut in half.

    A second one has its usual effect, but for SIGHUP: a terminal that closes may send it twice. Outside the main
    thread, where Python delivers no signals, nothing changes.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                if not (number == SIGHUP and signal.getsignal(number) is signal.SIG_IGN):  # ignored under nohup
                    self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        if number == SIGHUP:
            signal.signal(number, signal.SIG_IGN)
        else:
            self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
