"""Wheels from the package registry, by pip, kept in the user's cache. They are opened as archives, never installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

from regard.errors import UserError
from regard.files import cannot_write

Notify = Callable[[str], None]


@dataclass(frozen=True)
class Wheel:
    path: Path
    name: str
    version: str
    licence: str


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard"


def wheels(packages: tuple[str, ...], folder: Path, notify: Notify) -> list[Wheel]:
    """One wheel a package: those in the folder, or else the newest from the registry, put there when complete."""
    if not folder.is_dir():
        _download(packages, folder, notify)
    archives = {}
    for path in sorted(folder.glob("*.whl")):
        archives[path.name.split("-")[0].replace("_", "-")] = path
    missing = [package for package in packages if package not in archives]
    if missing:
        raise UserError(f"{folder} has no wheel of {', '.join(missing)}; delete that folder and fetch again")
    notify(f"reading {', '.join(archives[package].name for package in packages)} ({folder})")
    return [_describe(archives[package]) for package in packages]


def _download(packages: tuple[str, ...], folder: Path, notify: Notify) -> None:
    if importlib.util.find_spec("pip") is None:
        raise UserError(f"pip is not installed beside {sys.executable}; install it with `python -m ensurepip`")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise cannot_write(folder, error) from None
    command = [
        sys.executable,
        "-P",
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--ignore-requires-python",
    ]
    options = ["--disable-pip-version-check", "--no-input", "--progress-bar=off", "--retries=2", "--timeout=20"]
    notify(f"downloading {' and '.join(packages)} with pip (about 180 MB, once)")
    try:
        done = subprocess.run(
            [*command, *options, "--dest", str(draft), *packages], capture_output=True, text=True, errors="replace"
        )
        if done.returncode != 0:
            lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            last = next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else "")
            raise UserError(
                f"pip could not download {' and '.join(packages)}: {last or f'exit code {done.returncode}'}; "
                "check the network, or PIP_INDEX_URL and PIP_PROXY"
            )
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _describe(path: Path) -> Wheel:
    with open_wheel(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA") and name.count("/") == 1]
        if not names:
            raise UserError(f"{path} is not a wheel; delete it and fetch again")
        fields = HeaderParser().parsestr(archive.read(names[0]).decode("utf-8", "replace"))
    licence = fields.get("License-Expression") or fields.get("License") or "unknown"
    return Wheel(path, str(fields["Name"]), str(fields["Version"]), licence)


def open_wheel(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise UserError(f"{path} is damaged ({error}); delete {path.parent} and fetch again") from None
