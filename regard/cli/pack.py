"""regard pack."""

from __future__ import annotations

import sys
from pathlib import Path


def pack(run: Path, /, *, out: Path | None = None) -> int:
    """Put a run into one file, which every command takes in place of the directory.

    The file is a zip of data with a checksum for each file, and holds no code. What only `train --resume` needs is left
    out. Commands unpack it once, below ~/.cache/regard/runs.

    Parameters
    ----------
    run
        A run directory.
    out
        The file to write, which must not be there; without it RUN.regard beside the run.
    """
    from regard.checkpoint import pack_run

    place = pack_run(run, out)
    print(f"wrote {place}, {place.stat().st_size / 2**20:.1f} MiB", file=sys.stderr)
    return 0
