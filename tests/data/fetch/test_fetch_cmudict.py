"""The pronouncing dictionary, made from a tiny package."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pytest

from regard.config import DataSettings
from regard.data.corpus import load_corpus
from regard.data.fetch import fetch_cmudict
from regard.errors import UserError

WORDS = [
    first + second
    for first in "bcdfghjklmnprstvwxyz"
    for second in ("at", "ore", "ing", "u", "ite", "ess", "oat", "uck")
]


def store(cache: Path, content: str) -> None:
    folder = cache / "cmudict"
    folder.mkdir(parents=True)
    with tarfile.open(folder / "cmu-pronouncing-dictionary.tgz", "w:gz") as tar:
        member = tarfile.TarInfo("package/index.js")
        member.size = len(content.encode())
        tar.addfile(member, io.BytesIO(content.encode()))
    (folder / "cmu-pronouncing-dictionary.json").write_text(json.dumps({"version": "3.0", "licence": "ISC"}))


def test_words_are_split_by_their_digest_and_stress_is_left_out(tmp_path: Path) -> None:
    entries = [
        *(f'  {word}: "{word[0].upper()} AE1 T",' for word in WORDS),
        '  "bat(1)": "B AA1 T",',
        '  "\'em": "AH0 M",',
    ]
    store(tmp_path, "export const dictionary = {\n" + "\n".join(entries) + '\n  "it\'s": "IH1 T S"\n}\n')
    made = fetch_cmudict(tmp_path / "out", cache=tmp_path)
    assert made.dropped == {"a second way to speak a word": 1, "no word of letters": 1}
    assert made.train + made.dev + made.test == len(WORDS) + 1 and made.test > 0
    lines = "".join((tmp_path / "out" / f"{split}.tsv").read_text() for split in ("train", "dev", "test"))
    assert "bat\tB AE T\n" in lines and "it's\tIH T S\n" in lines
    again = fetch_cmudict(tmp_path / "again", cache=tmp_path)
    assert (again.folder / "train.tsv").read_bytes() == (made.folder / "train.tsv").read_bytes()
    assert load_corpus(DataSettings(corpus=str(made.folder), dev_examples=2, test_examples=2)).task == "translation"
    assert "BSD-2-Clause" in (made.folder / "README.md").read_text()


def test_a_package_without_words(tmp_path: Path) -> None:
    store(tmp_path, "export const dictionary = {}")
    with pytest.raises(UserError, match="holds no word"):
        fetch_cmudict(tmp_path / "out", cache=tmp_path)
    assert not (tmp_path / "out").exists()
