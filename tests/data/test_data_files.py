"""Files of pairs: lines, written pairs read back, one clear line for every bad file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from regard.config import DataSettings
from regard.data.corpus import load_corpus
from regard.data.examples import Example
from regard.data.files import read_lines, read_pairs, write_pairs
from regard.errors import UserError


def test_only_newlines_end_lines(tmp_path: Path) -> None:
    path = tmp_path / "odd"
    path.write_bytes("\ufeffone\u2028still one\r\ntwo\x0b\x0c\x85 two\n\nlast".encode())
    assert list(read_lines(path)) == ["one\u2028still one", "two\x0b\x0c\x85 two", "", "last"]


def test_written_pairs_are_read_back(tmp_path: Path) -> None:
    examples = [Example("a\u2028b", "é\x85"), Example('"quoted"', "<s>\\n")]
    for name in ("p.tsv", "p.jsonl"):
        write_pairs(tmp_path / name, examples)
        assert read_pairs(tmp_path / name).examples == examples


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", b"a\tb\nno tab here\n", "a.tsv:2: 1 column instead of 2"),
        ("a.tsv", b"a\tb\nc\td\te\n", "a.tsv:2: 3 columns instead of 2"),
        ("a.tsv", b"a\tb\nc\t\xff\xfe\n", "a.tsv:2: invalid UTF-8, byte 0xFF at column 3"),
        ("a.tsv", b"", "a.tsv: an empty corpus"),
        ("a.tsv", b"\t\n\n\t\n", "no pair to use; 3 × both sides are empty"),
        ("a.tsv", b"a\tb\n", "too few to hold out dev and test"),
        ("a.tsv", b"\x1f\x8bnot gzip at all", "damaged gzip"),
        ("a.tsv.gz", gzip.compress(b"a\tb\n" * 1000, mtime=0)[:-9], "damaged gzip"),
        ("a.jsonl", b'{"source": "a", "target": "b"}\n{"source": \n', "a.jsonl:2: not JSON"),
        ("a.jsonl", b'["a", "b"]\n', "a.jsonl:1: a JSON list instead of an object"),
        ("a.jsonl", b'{"text": "a", "label": "b"}\n', r"a.jsonl:1: no text under 'source' (keys text, label)"),
        ("a.jsonl", b'{"source": "a", "target": 3}\n', r"a.jsonl:1: no text under 'target' (target = 3)"),
        ("a.jsonl", b'{"source": "\\ud800", "target": "b"}\n', "a.jsonl:1: 'source' holds half of a surrogate pair"),
        ("a.doc", b"a,b\n", "a.doc: pairs are read from .tsv"),
    ],
)
def test_bad_files_are_named_with_their_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError) as error:
        load_corpus(DataSettings(pairs=str(tmp_path / name)))
    assert message in str(error.value)
    assert "\n" not in str(error.value)
