"""How torch runs: threads, hands, seeds, and the switches that make two runs equal to the bit on one machine."""

from __future__ import annotations

import ctypes
import hashlib
import platform
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

import torch
from torch import Tensor

Found = TypeVar("Found")

KEPT_BYTES = 2**31 - 1  # the most that mallopt takes


def prepare(threads: int | None = None) -> int:
    """Set the CPU threads (None: torch's own choice, all cores) and deterministic kernels; return the threads in use.

    The number of threads decides in which order sums are taken, so equal bits need equal threads.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    _keep_memory()
    torch.set_deterministic_debug_mode("error")  # use_deterministic_algorithms would import a compiler: 1.7 s of CPU
    # only a debugging aid, and it costs time
    torch.utils.deterministic.fill_uninitialized_memory = False  # pyrefly: ignore[missing-attribute]
    torch.set_flush_denormal(True)  # denormal moments of Adam would slow a CPU down tenfold
    return torch.get_num_threads()


@contextmanager
def same_threads() -> Iterator[None]:
    """torch has as many threads after this as before it, whatever else sets them: OpenMP has one number for all
    libraries that use it."""
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _keep_memory() -> None:
    """Tell glibc to keep freed memory: giving it back and faulting it in again costs every step of training."""
    trim_threshold, mmap_threshold = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of <malloc.h>
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(trim_threshold, KEPT_BYTES)
        libc.mallopt(mmap_threshold, KEPT_BYTES)


def seed_step(seed: int, step: int, rank: int = 0) -> None:
    """Seed torch from (seed, step) alone: dropout of a step never depends on what ran before, so resuming is exact.

    Processes that share a step draw apart, each by its rank.
    """
    name = f"{seed}/{step}/{rank}" if rank else f"{seed}/{step}"
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    torch.manual_seed(int.from_bytes(digest, "little") >> 1)


class UnwantedError(Exception):
    """Nobody waits any more for what this thread works on."""


_hand = threading.local()


def still_wanted() -> None:
    """To be called now and then by long work: ends it where it is a hand's and whoever asked has gone."""
    if (gone := getattr(_hand, "gone", None)) is not None and gone.is_set():
        raise UnwantedError


class Hands:
    """So many threads, each with a share of what one process has to do, and `threads` of torch's own under it."""

    def __init__(self, count: int, threads: int = 1) -> None:
        self.count = count
        self._gone = threading.Event()
        self._pool = ThreadPoolExecutor(count, "hand", _prepare, (threads, self._gone)) if count > 1 else None
        self._all_threads, self._threads = torch.get_num_threads(), threads

    def __enter__(self) -> Self:
        if self._pool is None and self._threads != self._all_threads:
            torch.set_num_threads(self._threads)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What is not begun never will be; what is under way ends where it asks whether it is still wanted."""
        if self._pool is None:
            if self._threads != self._all_threads:
                torch.set_num_threads(self._all_threads)
            return
        self._gone.set()
        try:
            self._pool.shutdown(cancel_futures=True)
        finally:
            torch.set_num_threads(self._all_threads)  # torch gives the number set last to threads yet to begin

    def do(self, works: Iterable[Callable[[], Found]]) -> list[Found]:
        """What each work gives, in the order of works."""
        return list(self.each(works))

    def each(self, works: Iterable[Callable[[], Found]]) -> Iterator[Found]:
        """The same one by one, while later ones are under way."""
        if self._pool is None:
            return (work() for work in works)
        return self._pool.map(lambda work: work(), works)

    def shares(self, tensors: Sequence[Tensor]) -> list[list[int]]:
        """The places of all tensors, shared out so that everybody has about as many numbers; nobody has none."""
        shares: list[list[int]] = [[] for _ in range(min(self.count, len(tensors)))]
        loads = [0] * len(shares)
        for place in sorted(range(len(tensors)), key=lambda place: -tensors[place].numel()):
            lightest = loads.index(min(loads))
            shares[lightest].append(place)
            loads[lightest] += tensors[place].numel()
        return [share for share in shares if share]


def _prepare(threads: int, gone: threading.Event) -> None:
    """What each thread has for itself."""
    _hand.gone = gone
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes that begin meanwhile hear neither Ctrl-C nor a polite kill: both are for the one that began them."""
    if threading.current_thread() is not threading.main_thread():  # signals are handled elsewhere
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Interrupt:
    """Ctrl-C (or a polite kill) inside this context only sets `asked`, so that a step is never cut in half.

    A second one is not held back. Outside the main thread, where Python delivers no signals, nothing changes.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
