"""Batches shared out among threads give what one thread gives; what is watched, and few batches, are not shared out."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
import torch

from regard.config import SearchConfig
from regard.decoding import decode
from regard.decoding.workers import shared_out
from regard.nn.taps import watching

SOURCES = [[3 + (i * j) % 8 for j in range((i * 5) % 13)] for i in range(30)]


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def workers(count: int) -> tuple[set[str], list[int]]:
    """The names of the threads that worked on so many batches, and how many threads each operation might take."""
    seen: list[tuple[str, int]] = []

    def work(batch: int) -> int:
        seen.append((threading.current_thread().name, torch.get_num_threads()))
        time.sleep(0.01)
        return -batch

    assert sorted(shared_out(range(count), work)) == [(batch, -batch) for batch in range(count)]
    return {name for name, _ in seen}, [threads for _, threads in seen]


@pytest.mark.parametrize("search", [{"beams": 1}, {"beams": 3, "n_best": 2}, {"sample": True, "n_best": 2}])
def test_what_is_found_does_not_depend_on_who_finds_it(toy, search) -> None:
    model = toy(11, eos_bonus=1.0).train()
    config = SearchConfig(batch_tokens=40, **search)
    done: list[int] = []
    shared = decode(model, SOURCES, config, progress=done.append)
    assert sum(done) == len(SOURCES) and len(done) > 4
    assert model.training and not any(model.modes)
    torch.set_num_threads(1)
    assert shared == decode(model, SOURCES, config)


def test_many_batches_are_shared_out_and_few_are_not() -> None:
    names, threads = workers(8)
    assert len(names) == 2 and threading.current_thread().name not in names and set(threads) == {1}
    assert torch.get_num_threads() == 2
    later: list[int] = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert later == [2]  # the workers' one thread was theirs alone
    assert workers(3) == ({threading.current_thread().name}, [2] * 3)


def test_what_is_watched_is_worked_through_in_order_by_one() -> None:
    with watching(torch.nn.Identity()):
        assert workers(8) == ({threading.current_thread().name}, [2] * 8)


def test_a_failure_ends_the_work_and_nothing_more_is_begun() -> None:
    begun: list[int] = []

    def work(batch: int) -> None:
        begun.append(batch)
        time.sleep(0.02)
        raise KeyError(batch)

    with pytest.raises(KeyError):
        list(shared_out(range(100), work))
    assert len(begun) < 20 and torch.get_num_threads() == 2
    assert not any(thread.name.startswith("decoding") for thread in threading.enumerate())
