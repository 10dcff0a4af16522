"""A progress bar on a terminal's standard error; nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text


class _Rate(TextColumn):
    """Items per second so far."""

    def render(self, task: object) -> Text:
        speed = getattr(task, "speed", None)
        return Text(f"{speed:,.0f}/s" if speed else "")


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function of the number of items done since its last call; shows rate and time left. `total` None: unknown."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(""), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, advance=done)


@contextmanager
def stages() -> Iterator[Callable[[str, int, int], None]]:
    """A function of the stage, how much of it is done, and its total; each stage has a bar."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield lambda what, done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=1)

        def show(what: str, done: int, total: int) -> None:
            if done == 0:
                bar.reset(task, description=what, total=total)
            bar.update(task, completed=done)

        yield show
