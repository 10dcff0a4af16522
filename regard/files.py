"""Files that are written whole or not at all, and what to tell a user when they cannot be."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from regard.errors import UserError


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Whole or not at all: a temporary file beside it, on the disk before it takes the name."""
    temporary = part_of(path)
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        discard(temporary)
        raise cannot_write(path, error) from None


def keep_previous(path: Path, previous: Path) -> None:
    """Give the file that is about to be replaced a second name; at no time is there neither of the two."""
    if not path.is_file():
        return
    temporary = part_of(previous)
    try:
        temporary.unlink(missing_ok=True)
        try:
            os.link(path, temporary)
        except OSError:  # a file system without hard links
            path.replace(previous)
        else:
            temporary.replace(previous)
    except OSError as error:
        raise cannot_write(previous, error) from None


def part_of(path: Path) -> Path:
    """The name that a file has until it is whole."""
    return path.with_name(f".{path.name}.part")


def whole_name(name: str) -> str:
    """The name that a part of a file would have taken."""
    while name.startswith(".") and name.endswith(".part"):
        name = name.removeprefix(".").removesuffix(".part")
    return name


def check_writable(path: Path) -> None:
    """Refuse now, before long work, what could not be written at its end."""
    folder = path.parent
    if not folder.is_dir():
        raise UserError(f"{path}: there is no folder {folder}; make it, or name another file")
    if path.is_dir():
        raise UserError(f"{path}: a folder has this name; name another file")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise UserError(f"{path}: writing is not allowed there; name another file")


def append_lines(path: Path, lines: list[str]) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
    except OSError as error:
        raise cannot_write(path, error) from None


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":  # elsewhere a directory cannot be opened, and need not be
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def discard(temporary: Path) -> None:
    try:
        temporary.unlink(missing_ok=True)
    except OSError:
        return  # the disk is failing; the first error is the one to report


def cannot_write(path: Path, error: OSError) -> UserError:
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return UserError(f"{path}: the disk is full; make room and continue with --resume: what was there is unharmed")
    return UserError(f"{path}: cannot be written ({error.strerror or error}); allow writing, or name another place")
