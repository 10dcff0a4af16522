"""The trainings of lessons: whole runs through the same door as everybody's, spread over single-threaded processes."""

from __future__ import annotations

import multiprocessing
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Self, TypeVar

import torch

from regard.config import settle
from regard.data.examples import Example
from regard.data.files import write_pairs
from regard.experiment import run_experiment
from regard.pipeline import Pipeline, load
from regard.threads import deaf_children

Job = TypeVar("Job")
Answer = TypeVar("Answer")
Progress = Callable[[str, int, int], None]  # what, done, of how many


@dataclass
class Trials:
    """Runs jobs in `workers` processes of one thread each; with one worker in this process, without any other.

    Answers do not depend on the number of workers: each job has one thread and its own seed. When the block is left by
    an error or Ctrl-C, the processes are ended at once, and what they had written is removed.
    """

    workers: int = 2
    progress: Progress = lambda what, done, total: None
    _pool: ProcessPoolExecutor | None = None
    _processes: set[BaseProcess] = field(default_factory=set)
    _folder: str | None = None
    _before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, _end)  # a polite kill ends the processes, too
        return self

    def __exit__(self, problem: type[BaseException] | None, *details: object) -> None:
        if self._pool is not None:
            for process in self._processes if problem is not None else ():
                process.kill()  # a polite end would first finish a training
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
            self._processes.clear()
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def run(self, what: str, function: Callable[[Job], Answer], jobs: Sequence[Job]) -> list[Answer]:
        """The answer to each job, in order. Function, jobs and answers travel between processes: plain data."""
        self.progress(what, 0, len(jobs))
        if self.workers == 1:
            answers = map(_with_one_thread, [function] * len(jobs), jobs)
        else:
            answers = self._start(function, jobs)
        collected = []
        for answer in answers:
            collected.append(answer)
            self.progress(what, len(collected), len(jobs))
        return collected

    def _start(self, function: Callable[[Job], Answer], jobs: Sequence[Job]) -> Iterator[Answer]:
        """Hand all jobs over; processes begin here, as far as they are needed and not there yet."""
        with deaf_children():
            if self._pool is None:
                self._folder = tempfile.mkdtemp(prefix="regard-lessons-")
                spawn = multiprocessing.get_context("spawn")  # a fork would share torch's threads
                self._pool = ProcessPoolExecutor(self.workers, spawn, _work_in, (self._folder,))
            others = set(multiprocessing.active_children()) - self._processes
            answers = self._pool.map(_with_one_thread, [function] * len(jobs), jobs)
            self._processes |= set(multiprocessing.active_children()) - others
        return answers


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def _work_in(folder: str) -> None:
    tempfile.tempdir = folder


def _with_one_thread(function: Callable[[Job], Answer], job: Job) -> Answer:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return function(job)
    finally:
        torch.set_num_threads(before)


@contextmanager
def trained(*settings: dict[str, Any]) -> Iterator[Pipeline]:
    """A model trained with these settings (later ones win), in a run directory that is gone afterwards."""
    single: dict[str, Any] = {"training": {"threads": 1}}
    with tempfile.TemporaryDirectory(prefix="regard-lesson-") as folder:
        run = Path(folder) / "run"
        if run_experiment(settle(single, *settings), run, progress=False).status == "interrupted":
            raise KeyboardInterrupt  # training ends politely on Ctrl-C; a lesson wants all of it or nothing
        yield load(run, threads=1)


@contextmanager
def trained_on(examples: list[Example], *settings: dict[str, Any]) -> Iterator[Pipeline]:
    """A model trained on these pairs, of which dev and test are held out."""
    with tempfile.TemporaryDirectory(prefix="regard-lesson-") as folder:
        pairs = Path(folder) / "pairs.jsonl"
        write_pairs(pairs, examples)
        with trained(*settings, {"data": {"pairs": str(pairs)}}) as pipeline:
            yield pipeline
