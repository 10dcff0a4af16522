"""A pool of single-threaded worker processes for the trainings of lessons."""

from __future__ import annotations

import multiprocessing
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from typing import Any, Self, TypeVar

from regard.child import safe_path
from regard.threads import children_ignore_signals, limit_threads

Job = TypeVar("Job")
Answer = TypeVar("Answer")
Progress = Callable[[str, int, int], None]  # what, done, of how many


@dataclass
class WorkerPool:
    """Runs jobs in `workers` processes of one thread each; one worker is this process itself.

    Answers do not depend on the number of workers: each job has one thread and its own seed. After an error or Ctrl-C
    the processes are killed at once, and their temporary files are removed.
    """

    workers: int = 2
    progress: Progress = lambda what, done, total: None
    _pool: ProcessPoolExecutor | None = None
    _processes: set[BaseProcess] = field(default_factory=set)
    _folder: str | None = None
    _before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, _end)  # SIGTERM ends the workers, too
        return self

    def __exit__(self, problem: type[BaseException] | None, *details: object) -> None:
        if self._pool is not None:
            for process in self._processes if problem is not None else ():
                process.kill()  # SIGTERM would let them finish a training first
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
            self._processes.clear()
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def run(self, what: str, function: Callable[[Job], Answer], jobs: Sequence[Job]) -> list[Answer]:
        """The answer to each job, in order. Function, jobs and answers must be picklable."""
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
        """Submit all jobs; worker processes that are needed and not there yet start here."""
        with children_ignore_signals(), safe_path():
            if self._pool is None:
                self._folder = tempfile.mkdtemp(prefix="regard-lessons-")
                spawn = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
                self._pool = ProcessPoolExecutor(self.workers, spawn, _set_temporary_folder, (self._folder,))
            others = set(multiprocessing.active_children()) - self._processes
            answers = self._pool.map(_with_one_thread, [function] * len(jobs), jobs)
            self._processes |= set(multiprocessing.active_children()) - others
        return answers


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def _set_temporary_folder(folder: str) -> None:
    tempfile.tempdir = folder


def _with_one_thread(function: Callable[[Job], Answer], job: Job) -> Answer:
    with limit_threads(1):
        return function(job)
