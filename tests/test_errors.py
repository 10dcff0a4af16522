"""An error is one line, whatever it quotes."""

from __future__ import annotations

import pytest

from regard.errors import UserError


@pytest.mark.parametrize(
    ("quoted", "shown"),
    [
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("left\u202eright", r"left\u202eright"),
        ("\ud800", r"\ud800"),
        ("日本語 👩\u200d🔬 نص", "日本語 👩\u200d🔬 نص"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(quoted: str, shown: str) -> None:
    assert str(UserError(f"file: {quoted}; repair it")) == f"file: {shown}; repair it"


def test_a_megabyte_is_cut_and_the_remedy_stays() -> None:
    message = str(UserError("file: key " + "x" * 1_000_000 + "; repair it"))
    assert len(message) < 1000 and message.startswith("file: key x") and message.endswith("x; repair it")
