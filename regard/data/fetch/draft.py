"""A folder that appears when all of it is there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.errors import UserError
from regard.files import cannot_write


def must_be_new(folder: Path) -> None:
    if folder.exists():
        raise UserError(f"{folder} exists already; choose another folder or delete it")


@contextmanager
def draft_of(folder: Path) -> Iterator[Path]:
    """A folder to write into, which takes the name when the block ends well and is gone otherwise."""
    parent = folder.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=parent))
    except OSError as error:
        raise cannot_write(folder, error) from None
    try:
        yield draft
        draft.chmod(0o755)  # mkdtemp's folders are for the owner alone
        draft.rename(folder)
    except OSError as error:
        raise cannot_write(folder, error) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
