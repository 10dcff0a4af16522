"""Batches shared out among threads that compute with one CPU thread each: small operations lose at thread barriers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

import torch

from regard.nn.taps import watched

TURNS = 2  # batches that a thread must have at least, or else the threads had better share each
Batch = TypeVar("Batch")
Found = TypeVar("Found")


def shared_out(batches: Sequence[Batch], work: Callable[[Batch], Found]) -> Iterator[tuple[Batch, Found]]:
    """Each batch with what `work` found, as they come. What is watched is worked through in order, by one."""
    threads = torch.get_num_threads()
    if threads == 1 or len(batches) < TURNS * threads or watched():
        yield from ((batch, work(batch)) for batch in batches)
        return
    pool = ThreadPoolExecutor(threads, "decoding", torch.set_num_threads, (1,))
    try:
        asked = {pool.submit(work, batch): batch for batch in batches}
        for future in as_completed(asked):
            yield asked[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # threads that begin later take over what was set last
