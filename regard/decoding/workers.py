"""Batches shared out among workers, each with its own part of the CPU threads: small operations lose at barriers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from threading import Barrier
from typing import TypeVar

import torch

from regard.nn.taps import watched

LEAST_TURNS = 2  # batches that a worker must have, or else the last one keeps all others waiting
MOST = 8  # workers: each holds a batch in memory
Item = TypeVar("Item")
Found = TypeVar("Found")


def shared_out(batches: Sequence[Item], work: Callable[[Item], Found]) -> Generator[tuple[Item, Found]]:
    """Each batch with what `work` found, as they come. What is watched is worked through in order, by one."""
    workers = 1 if watched() else min(torch.get_num_threads(), MOST, len(batches) // LEAST_TURNS)
    if workers <= 1:
        yield from ((batch, work(batch)) for batch in batches)
        return
    with _pool(workers) as pool:
        asked = {pool.submit(work, batch): batch for batch in batches}
        for future in as_completed(asked):
            yield asked[future], future.result()


@contextmanager
def _pool(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that have begun. What has not when the block ends never does; what has is waited for."""
    threads = torch.get_num_threads()
    begun = Barrier(workers + 1)

    def begin() -> None:
        torch.get_num_threads()  # at its first question, not at a setting, a thread takes over what was set last
        torch.set_num_threads(threads // workers)
        begun.wait()

    pool = ThreadPoolExecutor(workers, "decoding", begin)
    try:
        for _ in range(workers):
            pool.submit(int)  # a thread is started where none is idle, and until all have begun none is
        try:
            begun.wait()
        except BaseException:  # Ctrl-C: nobody waits for those who have not begun
            begun.abort()
            raise
        torch.set_num_threads(threads)  # for threads that begin later
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
