"""TBX, the exchange format of term bases (ISO 30042): its concepts as terms of two languages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.parsers.expat import ErrorString, ExpatError, ParserCreate

from regard.errors import UserError

CONCEPTS, SECTIONS = ("termEntry", "conceptEntry"), ("langSet", "langSec")
Concept = Mapping[str, Sequence[str]]  # language → its terms, the preferred one first


def read_tbx(path: str | Path, languages: tuple[str, str] | None) -> list[tuple[str, str, str]]:
    """(where, source term, target term) of each concept that has both languages; without `languages`, the two that
    the file holds, in their order. Of several target terms the first counts; every source term gets it."""
    concepts = list(_concepts(path))
    known = list(dict.fromkeys(language for _, concept in concepts for language in concept))
    if languages is None:
        if len(known) != 2:
            raise UserError(
                f"{path}: it holds {', '.join(known) or 'no language'}; the run must name two: train it with "
                "data.source_language and data.target_language"
            )
        languages = known[0], known[1]
    pairs = []
    for where, concept in concepts:
        sources, targets = (_terms(concept, language) for language in languages)
        pairs += [(where, source, targets[0]) for source in sources if targets]
    if not pairs:
        raise UserError(
            f"{path}: no concept has a term in {languages[0]} and in {languages[1]}; there are {', '.join(known)}"
        )
    return pairs


def _terms(concept: Concept, language: str) -> list[str]:
    """In the language itself, else in any variant of it: en-US for en."""
    wanted = language.casefold()
    exact = [term for name, terms in concept.items() if name.casefold() == wanted for term in terms]
    base = wanted.split("-")[0]
    return exact or [term for name, terms in concept.items() if name.casefold().split("-")[0] == base for term in terms]


def _concepts(path: str | Path) -> Iterator[tuple[str, Concept]]:
    """Each with its place."""
    reader = TbxReader(str(path))
    try:
        with Path(path).open("rb") as file:
            reader.parser.ParseFile(file)
    except ExpatError as error:
        raise UserError(f"{path}:{error.lineno}: not XML ({ErrorString(error.code)}); correct it") from None
    except OSError as error:
        raise UserError(f"{path}: cannot read it: {error.strerror or error}") from None
    return iter(reader.concepts)


class TbxReader:
    """Collects the terms of each concept by language. Entities are refused, so that no file grows while it is read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.concepts: list[tuple[str, dict[str, list[str]]]] = []
        self.parser = ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._refuse
        self._language = ""
        self._term: list[str] | None = None  # the text of a term that is open

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if name in CONCEPTS:
            where = attributes.get("id") or f"number {len(self.concepts) + 1}"
            self.concepts.append((f"{self.path}: concept {where}", {}))
        elif name in SECTIONS:
            self._language = attributes.get("xml:lang", "")
        elif name == "term":
            self._term = []

    def _end(self, name: str) -> None:
        if name.rpartition(":")[2] == "term" and self._term is not None:
            if self.concepts:
                terms = self.concepts[-1][1].setdefault(self._language, [])
                terms.append(" ".join("".join(self._term).split()))
            self._term = None

    def _text(self, data: str) -> None:
        if self._term is not None:
            self._term.append(data)

    def _refuse(self, *_: object) -> None:
        raise UserError(f"{self.path}: it declares entities, which a glossary does not need; remove its DOCTYPE")
