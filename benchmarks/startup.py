"""How long each verb takes on a small run, its start included: one Markdown table.

python benchmarks/startup.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from _machine import machine
from _rounds import spread, timed

import regard

SETTINGS = {
    "data": {"corpus": "copy", "lengths": "1-6", "examples": 2000},
    "model": {"preset": "transformer", "width": 32, "depth": 1, "heads": 2},
    "training": {"steps": 50, "warmup_steps": 1},
}
VERBS = (  # RUN and RECIPE are of SETTINGS, OUT is a new folder
    "--help",
    "train --help",
    "demo --help",  # without it, it trains for a minute
    "data list",
    "data inspect copy --data.examples 2000",
    "describe transformer",
    "lesson",
    "train RECIPE --training.steps 1 --out OUT",
    "compare RECIPE --presets transformer --steps 1 --data.dev-examples 50 --data.test-examples 50 --out OUT",
    "translate RUN 'a b c'",
    "look RUN 'a b c'",
    "evaluate RUN",
    "probe RUN",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        regard.train(SETTINGS, folder / "run", progress=False)
        (folder / "recipe.toml").write_bytes((folder / "run" / "recipe.toml").read_bytes())
        times = timed({verb: partial(_run, verb, folder) for verb in VERBS}, rounds)
    print("## From the command to its end, seconds by the clock\n")
    print(f"{machine()}; {rounds} interleaved rounds\n")
    print("| command | median (range) |\n|---|---:|")
    for verb, seconds in times.items():
        print(f"| `regard {verb}` | {spread(seconds, '.2f')} |")


def _run(verb: str, folder: Path) -> None:
    paths = {
        "RUN": folder / "run",
        "RECIPE": folder / "recipe.toml",
        "OUT": Path(tempfile.mkdtemp(dir=folder)) / "out",
    }
    arguments = [str(paths.get(word, word)) for word in shlex.split(verb)]
    ended = subprocess.run([sys.executable, "-m", "regard", *arguments], check=False, capture_output=True, text=True)
    if ended.returncode:
        sys.exit(f"regard {verb}: {ended.stderr.strip()}")


if __name__ == "__main__":
    main()
