"""TBX, the exchange format of term bases (ISO 30042): its concepts as terms of two languages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, XMLParser, iterparse

from regard.errors import UserError

LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
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
    """Each with its place. Entities are refused, so that no file grows while it is read."""
    parser = XMLParser()

    def refuse(*_: object) -> None:
        raise UserError(f"{path}: it declares entities, which a glossary does not need; remove its DOCTYPE")

    parser.parser.EntityDeclHandler = refuse
    number = 0
    try:
        for _, element in iterparse(path, ("end",), parser):
            if _name(element) in CONCEPTS:
                number += 1
                yield f"{path}: concept {element.get('id') or number}", _languages(element)
                element.clear()
    except ParseError as error:
        raise UserError(f"{path}:{error.position[0]}: not XML ({error}); correct it") from None
    except OSError as error:
        raise UserError(f"{path}: cannot read it: {error.strerror or error}") from None


def _languages(concept: Element) -> dict[str, list[str]]:
    terms: dict[str, list[str]] = {}
    for section in concept.iter():
        if _name(section) in SECTIONS:
            own = [" ".join("".join(term.itertext()).split()) for term in section.iter() if _name(term) == "term"]
            terms.setdefault(section.get(LANGUAGE, ""), []).extend(own)
    return terms


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]
