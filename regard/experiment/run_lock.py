"""A lock on a run directory: one process at a time trains into it, and a second is told who does."""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from regard.checkpoint import LOCK
from regard.errors import UserError
from regard.files import cannot_write


class RunLock:
    """Held inside a `with` block. The system drops it when the process ends in any way, so that no stale lock stays.

    Where the file system has no locks, or on Windows, nothing is locked.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / LOCK
        self._handle: int | None = None
        self._made = False  # the folder

    def __enter__(self) -> Self:
        if sys.platform == "win32" or (self._folder.exists() and not self._folder.is_dir()):
            return self
        import fcntl

        try:
            self._made = not self._folder.exists()
            self._folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise cannot_write(self._folder, error) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 10_000)
            os.close(handle)
            raise UserError(
                f"{self._folder}: {_holder(holder)} trains into it; wait until that has ended, or choose another --out"
            ) from None
        except OSError:  # no locks on this file system
            os.close(handle)
            return self
        now = datetime.now().astimezone().isoformat(" ", "seconds")
        record = {"host": socket.gethostname(), "pid": os.getpid(), "since": now}
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps(record).encode())
        self._handle = handle
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is None:
            return
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
            if self._made and error is not None:
                self._folder.rmdir()  # only where nothing was written
        os.close(self._handle)
        self._handle = None


def _holder(data: bytes) -> str:
    """Who holds the lock, in words."""
    try:
        record = json.loads(data)
        return f"process {record['pid']} on {record['host']} (since {record['since']})"
    except (ValueError, TypeError, KeyError):  # it has the lock, and has not written its name yet
        return "another process"
