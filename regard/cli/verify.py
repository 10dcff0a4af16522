"""regard verify."""

from __future__ import annotations

import sys
from pathlib import Path


def verify(run: Path, /) -> int:
    """Check that a run is as it was written: format, checksums, that its files fit, and its stored sample outputs.

    Also prints where it comes from: its data with checksums, versions, the machine, the run that it began with.

    Parameters
    ----------
    run
        A run directory, or a packed run.
    """
    from regard.experiment.seal import provenance_lines, verify_run

    failed = 0
    for check in verify_run(run):
        print(check)
        failed += check.problem is not None
    print()
    for line in provenance_lines(run):
        print(line)
    if failed:
        print(f"regard: {run}: {failed} checks failed; restore the run from a copy, or train again", file=sys.stderr)
    return 2 if failed else 0
