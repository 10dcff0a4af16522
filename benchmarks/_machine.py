"""The line above every table: what it was measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def machine(*packages: str) -> str:
    """The processor, the cores that this process may use, and the versions of Python, torch and these packages."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", *packages))
    return f"{processor()}, {cores()} cores, Python {platform.python_version()}, {versions}"


def processor(file: Path = CPUINFO) -> str:
    """The model's name; where the system does not give it, the name of its architecture."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(filter(None, named), platform.processor() or platform.machine())


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
