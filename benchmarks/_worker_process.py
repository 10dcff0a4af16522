"""A benchmarked system in a process of its own, which answers each line of input with one line of output."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from types import TracebackType
from typing import Self

from _environments import LeftOutError

SECONDS_TO_END = 30.0


class WorkerProcess:
    """Starts when the process prints "ready"; its stderr is shown."""

    def __init__(self, command: list[str]) -> None:
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment()
            )
        except OSError as error:
            raise LeftOutError(f"it did not start: {error}") from None
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        while (line := self._stdout.readline()).strip() != "ready":
            if not line:
                raise LeftOutError(f"it did not start: {' '.join(command[:2])} ended with code {self._code()}")

    def ask(self, line: str) -> str:
        with suppress(OSError):  # then there is no answer, either
            self._stdin.write(line + "\n")
            self._stdin.flush()
        answer = self._stdout.readline()
        if not answer:
            raise LeftOutError(f"it died: its process ended with code {self._code()}")
        return answer.strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._code()

    def _code(self) -> int:
        """The exit code: closing stdin ends the process."""
        with suppress(OSError):
            self._stdin.close()
        try:
            return self._process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self._stdout.close()


def _environment() -> dict[str, str]:
    """This process' own without what regard sets in it: each system's threads wait as they do for its users."""
    return {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
