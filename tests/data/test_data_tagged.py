"""Tagged sentences: two columns or CoNLL-U, and one clear line for every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.data.tagged import Tagged, read_tagged
from regard.errors import UserError


def test_tagged_files(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("the\tDET\ncat\tNOUN\n\nit\tPRON\n")
    first, second = read_tagged(tmp_path / "plain")
    assert first == Tagged(("the", "cat"), ("DET", "NOUN")) and first.text == "the cat" and second.tags == ("PRON",)
    rows = ["# text = du bist", "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_", "1\tdu\tdu\tPRON\tPPER\t_\t2\tnsubj\t_\t_"]
    (tmp_path / "ud").write_text("\n".join([*rows, "2\tbist\tsein\tAUX\tVAFIN\t_\t0\troot\t_\t_"]) + "\n")
    assert read_tagged(tmp_path / "ud") == [Tagged(("du", "bist"), ("PRON", "AUX"))]
    assert read_tagged(tmp_path / "ud", "deprel")[0].tags == ("nsubj", "root")
    (tmp_path / "bad").write_text("a\tb\nc d e\n")
    with pytest.raises(UserError, match=r"bad:2: 1 columns"):
        read_tagged(tmp_path / "bad")
    with pytest.raises(UserError, match="--column 'pos'"):
        read_tagged(tmp_path / "ud", "pos")
