"""Errors about keys and names: what was meant by a misspelt one."""

from __future__ import annotations

import difflib
from typing import Any


def near(word: str, known: Any) -> str:
    """', did you mean …?' where something known is spelled alike, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f", did you mean {close[0]!r}?" if close else ""
