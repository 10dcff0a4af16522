"""What an export is written into: a folder or a file that takes its name when it is whole."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.errors import UserError
from regard.files import cannot_write, discard, part_of


def check_place(place: Path) -> None:
    """Refuse, before any work, a place that holds something or cannot be made."""
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise UserError(f"{place} exists already; choose another --out, or remove it")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(place, error) from None


@contextmanager
def new_folder(place: Path) -> Iterator[Path]:
    """A folder to write into; it becomes `place` when this context ends well, and vanishes otherwise."""
    check_place(place)
    part = part_of(place)
    try:
        shutil.rmtree(part, ignore_errors=True)  # of a run that was killed
        part.mkdir()
        yield part
        if place.is_dir():
            place.rmdir()  # it is empty
        part.replace(place)
    except OSError as error:
        raise cannot_write(place, error) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def new_file(place: Path) -> Iterator[Path]:
    """The same of a file."""
    check_place(place)
    if place.is_dir():
        raise UserError(f"{place}: a folder has this name; choose another --out")
    part = part_of(place)
    try:
        yield part
        part.replace(place)
    except OSError as error:
        raise cannot_write(place, error) from None
    finally:
        discard(part)
