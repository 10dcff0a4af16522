"""Batches shared out among threads give what one thread gives; what is watched, and few batches, are not shared out."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from regard.config import SearchConfig, settle
from regard.data.lexicon import Lexicon
from regard.decoding import decode
from regard.decoding.workers import LEAST_TURNS, MOST, shared_out
from regard.models.build import build_model
from regard.nn.taps import watching

SOURCES = [[3 + (i * j) % 8 for j in range((i * 5) % 13)] for i in range(30)]
SEARCHES = [{"beams": 1}, {"beams": 3, "n_best": 2}, {"sample": True, "n_best": 2}]
HERE = threading.current_thread().name


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def workers(batches: int, meeting: int = 1) -> tuple[set[str], set[int]]:
    """Who worked on so many batches, and with how many CPU threads; so many must work at a time."""
    seen: list[tuple[str, int]] = []
    together = threading.Barrier(meeting)

    def work(batch: int) -> int:
        together.wait(60)
        seen.append((threading.current_thread().name, torch.get_num_threads()))
        return -batch

    assert sorted(shared_out(range(batches), work)) == [(batch, -batch) for batch in range(batches)]
    return {name for name, _ in seen}, {threads for _, threads in seen}


@pytest.mark.parametrize("search", SEARCHES)
def test_what_is_found_does_not_depend_on_who_finds_it(toy, search) -> None:
    model = toy(11, eos_bonus=1.0).train()
    config = SearchConfig(batch_tokens=40, **search)
    done: list[int] = []
    shared = decode(model, SOURCES, config, progress=done.append)
    assert sum(done) == len(SOURCES) and len(done) > 4
    assert HERE not in model.threads and all(model.inferring)
    assert model.training and not any(model.modes)
    torch.set_num_threads(1)
    model.threads.clear()
    assert shared == decode(model, SOURCES, config)
    assert model.threads == {HERE}


@pytest.mark.parametrize("search", [*SEARCHES, {"beams": 3, "short_list": True}])
@pytest.mark.parametrize("preset", ["transformer", "lstm-additive"])
def test_models_may_be_asked_by_several_threads(preset: str, search: dict) -> None:
    model = build_model(settle({"model": {"preset": preset, "width": 8, "heads": 2}}).model, 11, 11, True, 1)
    config = SearchConfig(batch_tokens=40, max_tokens=9, **search)
    every = np.arange(11)
    lexicon = Lexicon(every[:, None], every[3:6])
    found = []
    for threads in (2, 1):
        torch.set_num_threads(threads)
        found.append(decode(model, SOURCES, config, lexicon=lexicon))
    assert [[one.tokens for one in each] for each in found[0]] == [[one.tokens for one in each] for each in found[1]]


def test_many_batches_are_shared_out_and_few_are_not() -> None:
    names, threads = workers(8, meeting=2)
    assert len(names) == 2 and HERE not in names and threads == {1}
    assert workers(2 * LEAST_TURNS - 1) == ({HERE}, {2})
    torch.set_num_threads(7)
    names, threads = workers(3 * LEAST_TURNS, meeting=3)
    assert len(names) == 3 and threads == {2}
    torch.set_num_threads(4 * MOST)
    names, threads = workers(MOST * LEAST_TURNS, meeting=MOST)
    assert len(names) == MOST and threads == {4}


def test_threads_that_begin_meanwhile_are_not_the_workers() -> None:
    """They keep all CPU threads, though each worker set its own."""
    counts: list[int] = []
    for _ in shared_out(range(4), abs):
        other = threading.Thread(target=lambda: counts.append(torch.get_num_threads()))
        other.start()
        other.join()
    assert counts == [2] * 4 and torch.get_num_threads() == 2


def test_what_is_watched_is_worked_through_in_order_by_one() -> None:
    with watching(torch.nn.Identity()):
        assert workers(8) == ({HERE}, {2})


def test_a_failure_ends_the_work_and_nothing_more_is_begun() -> None:
    begun: list[int] = []
    failed = threading.Event()

    def work(batch: int) -> None:
        begun.append(batch)
        if batch == 0:
            raise KeyError(batch)
        failed.wait(60)  # all others wait for the failure to be seen

    results = shared_out(range(100), work)
    with pytest.raises(KeyError):
        threading.Timer(0.5, failed.set).start()
        list(results)
    assert len(begun) < 100 and torch.get_num_threads() == 2
    assert not any(thread.name.startswith("decoding") for thread in threading.enumerate())


def test_workers_that_end_before_others_have_begun_are_waited_for() -> None:
    """Left at once, a hundred times: none may wait for ever (a barrier broken too soon once kept a worker waiting)."""

    def leave() -> None:
        torch.set_num_threads(2)
        for _ in range(100):
            answers = shared_out(range(4), abs)
            next(answers)
            answers.close()

    thread = threading.Thread(target=leave, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
