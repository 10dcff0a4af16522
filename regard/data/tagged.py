"""Sentences whose words carry a label: `word TAB tag`, a line a word, an empty line between sentences; or CoNLL-U."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regard.data.examples import Example, Skipped
from regard.data.files import Reading, read_lines
from regard.errors import UserError

CONLLU = {"form": 1, "lemma": 2, "upos": 3, "xpos": 4, "feats": 5, "head": 6, "deprel": 7}


@dataclass(frozen=True)
class Tagged:
    """One sentence."""

    words: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.words)


def read_tagged(path: str | Path, column: str = "upos") -> list[Tagged]:
    """All sentences of a file; `column` names the one to take where the file is CoNLL-U (ten columns)."""
    if column not in CONLLU:
        raise UserError(f"--column {column!r} is not of CoNLL-U; it has {', '.join(CONLLU)}")
    sentences: list[Tagged] = []
    words: list[str] = []
    tags: list[str] = []
    for number, line in enumerate([*read_lines(path), ""], start=1):
        if not line.strip():
            if words:
                sentences.append(Tagged(tuple(words), tuple(tags)))
            words, tags = [], []
        elif not line.startswith("#"):
            fields = line.split("\t")
            if len(fields) == 10:
                if fields[0].isdecimal():  # neither 3-4, words written as one, nor 3.1, words not written
                    words.append(fields[1].replace(" ", ""))
                    tags.append(fields[CONLLU[column]])
            elif len(fields) == 2 and fields[0].strip():
                words.append(fields[0].strip())
                tags.append(fields[1].strip())
            else:
                raise UserError(f"{path}:{number}: {len(fields)} columns; write word TAB tag, or the ten of CoNLL-U")
    if not sentences:
        raise UserError(f"{path} holds no tagged word; write word TAB tag, a line a word")
    return sentences


def is_conllu(path: str | Path) -> bool:
    """By the end of its name: .conllu, .gz allowed."""
    return Path(path).name.lower().removesuffix(".gz").endswith(".conllu")


def read_conllu(path: str | Path) -> Reading:
    """The sentences of a CoNLL-U file as pairs of words and universal parts of speech."""
    examples, skipped = [], []
    for number, sentence in enumerate(read_tagged(path, "upos"), start=1):
        if "_" in sentence.tags:
            skipped.append(Skipped(f"{path}, sentence {number}", "a word has no part of speech"))
        else:
            examples.append(Example(sentence.text, " ".join(sentence.tags)))
    return Reading(examples, skipped, task="tagging")
