"""The peers' environments: one for each, which pip makes the first time it is needed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDER = "~/.cache/regard/peers"
CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"
VERSIONS = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"


class LeftOutError(Exception):
    """Why a peer cannot be measured."""


@dataclass(frozen=True)
class Environment:
    package: str  # names the folder, too
    others: tuple[str, ...] = ("torch",)


TRANSFORMERS = Environment("transformers")
JOEYNMT = Environment("joeynmt", ("torch", "importlib_metadata"))
EOLE = Environment("eole")


@dataclass(frozen=True)
class Interpreter:
    path: Path
    versions: str


def interpreter(environment: Environment, folder: Path) -> Interpreter:
    """The environment's Python; the environment is made where there is none yet."""
    directory = folder / environment.package
    python, ready = directory / "bin" / "python", directory / ".ready"
    if not ready.exists():
        print(f"installing {environment.package} into {directory}", file=sys.stderr)
        _done([sys.executable, "-m", "venv", str(directory)])
        install = ("-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", str(CONSTRAINTS))
        _done([str(python), *install, *environment.others, environment.package])
        ready.touch()
    versions = _done([str(python), "-c", VERSIONS, environment.package, "torch"]).split()
    return Interpreter(python, f"{environment.package} {versions[0]} with torch {versions[1]}")


def leave_out(name: str, reason: object) -> None:
    print(f"{name} is left out: {reason}", file=sys.stderr, flush=True)


def _done(command: list[str]) -> str:
    """What it printed."""
    try:
        ended = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError as error:
        raise LeftOutError(f"{command[0]} does not run: {error}") from None
    if ended.returncode:
        output = (ended.stderr or ended.stdout).strip().splitlines() or ["nothing"]
        raise LeftOutError(f"{' '.join(command[:4])} … failed, and said last: {output[-1]}")
    return ended.stdout
