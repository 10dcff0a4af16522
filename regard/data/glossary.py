"""Glossaries: source terms and what they must become. TSV (term TAB translation) or TBX (ISO 30042)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from regard.data.files import read_lines
from regard.errors import UserError

INFLECTED = 4  # letters that a word must share at least with a form of it
ENDINGS = 3  # letters by which two forms of a word may differ in length
SPACELESS = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
LETTERS = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Term:
    source: str
    target: str


@dataclass(frozen=True)
class TermUse:
    """A term that a source holds, and what became of it."""

    source: str
    target: str
    kept: bool
    forced: bool = False  # by constrained search: the model alone would not have written it


class Glossary:
    """Terms; where two could stand in one place, the longer counts."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = tuple(terms)
        self._by_source = {_key(term.source): term for term in terms}

    @classmethod
    def read(cls, path: str | Path, languages: tuple[str, str] | None = None) -> Glossary:
        """A .tsv file with a term, a tab and its translation in each line (.gz allowed); or a .tbx file, of whose
        languages these are the source's and the target's."""
        name = Path(path).name.removesuffix(".gz")
        if name.endswith((".tbx", ".xml")):
            from regard.data.tbx import read_tbx  # needs an XML parser, which most glossaries do not

            return cls(_checked([(where, Term(*pair)) for where, *pair in read_tbx(path, languages)]))
        if not name.endswith((".tsv", ".txt", ".tab")):
            raise UserError(
                f"{path}: a glossary is a .tsv file (term TAB translation) or a .tbx file; rename or convert it"
            )
        return cls(_checked(_tsv(path)))

    def find(self, text: str) -> list[Term]:
        """The terms that stand in a text, as whole words, whatever their case; in order, each place once."""
        if self._pattern is None:
            return []
        return [self._by_source[_key(match.group())] for match in self._pattern.finditer(text)]

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        if not self.terms:
            return None
        longest_first = sorted((term.source for term in self.terms), key=lambda source: (-len(source), source))
        return re.compile("|".join(_whole_words(source) for source in longest_first), re.IGNORECASE)


def stands_in(target: str, output: str) -> bool:
    """Whether a term's translation is in an output: its words one after another, in any case, each in a form that
    shares all but the last letters with it."""
    if SPACELESS.search(target):
        return target in output
    words = [word.casefold() for word in LETTERS.findall(target)]
    there = [word.casefold() for word in LETTERS.findall(output)]
    return any(all(map(_same_word, words, there[at : at + len(words)])) for at in range(len(there) - len(words) + 1))


def stands_as_written(target: str, output: str) -> bool:
    """The same, letter by letter but for the case."""
    return re.search(_whole_words(target), output, re.IGNORECASE) is not None


def _same_word(word: str, other: str) -> bool:
    if word == other:
        return True
    shared = next((n for n, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    least = max(INFLECTED, len(word) - ENDINGS + 1)
    return shared >= least and abs(len(word) - len(other)) <= ENDINGS


def _key(source: str) -> str:
    return " ".join(source.casefold().split())


def _whole_words(term: str) -> str:
    """Words of a script with spaces are not parts of others."""
    words = r"\s+".join(re.escape(word) for word in term.split())
    before = r"(?<!\w)" if term[0].isalnum() and not SPACELESS.match(term[0]) else ""
    after = r"(?!\w)" if term[-1].isalnum() and not SPACELESS.match(term[-1]) else ""
    return f"{before}{words}{after}"


def _tsv(path: str | Path) -> list[tuple[str, Term]]:
    """Each term with its place."""
    terms = []
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) != 2:
            count = f"{len(columns)} column{'s' if len(columns) > 1 else ''}"
            raise UserError(f"{path}:{number}: {count}, not 2; write a term, one tab and its translation")
        terms.append((f"{path}:{number}", Term(*(column.strip() for column in columns))))
    if not terms:
        raise UserError(f"{path}: it holds no term; write lines of a term, a tab and its translation")
    return terms


def _checked(found: Sequence[tuple[str, Term]]) -> list[Term]:
    """Each term once; none empty, and none with two translations."""
    terms: dict[str, Term] = {}
    for where, term in found:
        if not term.source or not term.target:
            side = "term" if not term.source else "translation"
            raise UserError(f"{where}: the {side} is empty; write both sides, or delete the line")
        earlier = terms.setdefault(_key(term.source), term)
        if earlier.target != term.target:
            raise UserError(
                f"{where}: {term.source!r} is {term.target!r} here and {earlier.target!r} before; keep one translation"
            )
    return list(terms.values())
