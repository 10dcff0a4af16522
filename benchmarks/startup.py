"""How long each verb takes on a small run, its start included: one Markdown table.

python benchmarks/startup.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import regard

SETTINGS = {
    "data": {"corpus": "copy", "lengths": "1-6", "examples": 2000},
    "model": {"preset": "transformer", "width": 32, "depth": 1, "heads": 2},
    "training": {"steps": 50},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        run = str(regard.train(SETTINGS, Path(folder) / "run", progress=False).path)
        verbs = (
            ["--help"],
            ["train", "--help"],
            ["data", "list"],
            ["describe", "transformer"],
            ["lesson"],
            ["translate", run, "a b c"],
            ["look", run, "a b c"],
            ["evaluate", run],
            ["probe", run],
        )
        print("## From the command to its end, seconds by the clock\n")
        print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}; {rounds} rounds\n")
        print("| command | median | range |\n|---|---:|---:|")
        taken: list[list[float]] = [[] for _ in verbs]
        for _ in range(rounds):
            for place, arguments in enumerate(verbs):
                start = time.perf_counter()
                subprocess.run([sys.executable, "-m", "regard", *arguments], check=True, capture_output=True)
                taken[place].append(time.perf_counter() - start)
        for arguments, own in zip(verbs, taken, strict=True):
            shown = " ".join("RUN" if one == run else one for one in arguments)
            print(f"| `regard {shown}` | {statistics.median(own):.2f} | {min(own):.2f} to {max(own):.2f} |")


if __name__ == "__main__":
    main()
