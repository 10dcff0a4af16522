"""regard import."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal


def import_model(kind: Literal["opus-mt"], folder: Path, /, *, out: Path) -> int:
    """Make a run of another program's model: translate with it, evaluate it, look into it, train it on.

    Parameters
    ----------
    kind
        opus-mt: a Marian model as the Hugging Face hub ships it (config.json, model.safetensors, source.spm,
        target.spm, vocab.json), or the zip that OPUS ships (npz and yml).
    folder
        Where it is; nothing is downloaded.
    out
        The run directory to write.
    """
    from regard.interop import import_model as import_foreign_model

    for line in import_foreign_model(folder, out, kind).summary():
        print(line, file=sys.stderr)
    return 0
