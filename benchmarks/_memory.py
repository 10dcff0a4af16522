"""The most memory that a process has held, together with those that it began: as Linux tells it."""

from __future__ import annotations

import math
from pathlib import Path

PROC = Path("/proc")


def peak_mebibytes(process: int, proc: Path = PROC) -> float:
    """The sum of the peaks of all its processes, which need not have come at one time.

    What is mapped from files or shared lies in memory once, however many map it: it is counted as that one has it who
    has most of it. For a single process this is its peak (VmHWM). Not a number where there is no /proc.
    """
    family = _family(process, {int(path.parent.name): _status(path) for path in proc.glob("[0-9]*/status")})
    if not family:
        return math.nan
    alone = sum(one.get("VmHWM", 0) - one.get("RssFile", 0) - one.get("RssShmem", 0) for one in family)
    once = sum(max(one.get(kind, 0) for one in family) for kind in ("RssFile", "RssShmem"))
    return (alone + once) / 1024


def _family(process: int, everybody: dict[int, dict[str, int]]) -> list[dict[str, int]]:
    """The process and all that descend from it."""
    if process not in everybody:
        return []
    children = [one for one, status in everybody.items() if status.get("PPid") == process]
    return [everybody[process], *(found for child in children for found in _family(child, everybody))]


def _status(path: Path) -> dict[str, int]:
    """Its numbers, sizes in KiB; none of a process that ended meanwhile."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    fields = (line.split() for line in lines)
    return {one[0].rstrip(":"): int(one[1]) for one in fields if len(one) > 1 and one[1].isdigit()}
