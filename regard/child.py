"""Python processes that regard starts: nothing in the current directory is imported by them.

A folder that was downloaded may hold a folder named `multiprocessing` or `regard`; a child must not run it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = str(Path(__file__).parents[1])  # where this regard is


def python_command(code: str) -> list[str]:
    """The command that runs this Python on `code`, with this regard to import and without the current directory."""
    begin = f"import sys; root = {ROOT!r}; root in sys.path or sys.path.insert(0, root)"
    return [sys.executable, "-P", "-c", f"{begin}; {code}"]


@contextmanager
def safe_path() -> Iterator[None]:
    """The same for children that a library starts inside."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before
