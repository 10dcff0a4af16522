"""A value that was chosen for an open setting, and why."""

from __future__ import annotations

from typing import Any, NamedTuple


class Choice(NamedTuple):
    """The value of an open field, and why."""

    value: Any
    why: str


Choices = dict[str, Choice]
