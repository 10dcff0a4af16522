"""Peak memory of a process and its children, from /proc."""

from __future__ import annotations

import math
from pathlib import Path

PROC = Path("/proc")


def peak_mebibytes(process: int, proc: Path = PROC) -> float:
    """The sum of the peaks of the process and its descendants, which need not be at one time.

    Mapped files and shared memory are in memory once: the largest of the processes' amounts counts. For a single
    process the result is its peak (VmHWM). NaN where there is no /proc.
    """
    family = _family(process, {int(path.parent.name): _status(path) for path in proc.glob("[0-9]*/status")})
    if not family:
        return math.nan
    private = sum(status.get("VmHWM", 0) - status.get("RssFile", 0) - status.get("RssShmem", 0) for status in family)
    shared = sum(max(status.get(kind, 0) for status in family) for kind in ("RssFile", "RssShmem"))
    return (private + shared) / 1024


def _family(process: int, statuses: dict[int, dict[str, int]]) -> list[dict[str, int]]:
    """The process and all that descend from it."""
    if process not in statuses:
        return []
    children = [child for child, status in statuses.items() if status.get("PPid") == process]
    return [statuses[process], *(status for child in children for status in _family(child, statuses))]


def _status(path: Path) -> dict[str, int]:
    """The numbers of a status file, sizes in KiB; none of a process that has ended."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    fields = (line.split() for line in lines)
    return {field[0].rstrip(":"): int(field[1]) for field in fields if len(field) > 1 and field[1].isdigit()}
