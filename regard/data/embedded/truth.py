"""What embedded corpora know beyond their texts: what of a source is said where, whom a pronoun stands for."""

from __future__ import annotations

from dataclasses import dataclass

from regard.config import DataSettings
from regard.data.embedded.dates import Piece, written_dates
from regard.data.embedded.grammar import ABOUT, grammar_sentences
from regard.data.embedded.stories import Span, stories
from regard.data.examples import Example


@dataclass(frozen=True)
class Truth:
    """Of one example."""

    aligned: tuple[
        tuple[Span, Span], ...
    ] = ()  # in the source, in the target: the same field of a date, or words of one meaning
    heads: tuple[tuple[Span, Span], ...] = ()  # a word of the source, and the word that it depends on
    antecedents: tuple[tuple[Span, Span], ...] = ()  # a pronoun of the source, and the name it stands for


def truths(config: DataSettings) -> dict[Example, Truth]:
    """Of every development and test example; empty where the corpus knows nothing more."""
    few = config.model_copy(update={"examples": 1})  # held-out examples are drawn before those for training
    if config.corpus == "dates":
        dates = written_dates(few)
        return {
            date.example(): Truth(aligned=_same_field(date.source, date.target))
            for date in (*dates["dev"], *dates["test"])
        }
    if config.corpus == "stories":
        by_split = stories(few)
        return {
            story.example(): Truth(
                antecedents=tuple((pronoun.where, pronoun.antecedent_where) for pronoun in story.pronouns)
            )
            for story in (*by_split["dev"], *by_split["test"])
        }
    if config.corpus in ABOUT:
        sentences = grammar_sentences(few, config.corpus)
        held_out = (*sentences["dev"], *sentences["test"])
        return {sentence.example(): Truth(aligned=sentence.aligned) for sentence in held_out}
    return {}


def _same_field(source: tuple[Piece, ...], target: tuple[Piece, ...]) -> tuple[tuple[Span, Span], ...]:
    """Year with year, month with month; a source of figures alone has all of them in one word."""
    return tuple(
        (span, target_span)
        for kind, span in _fields(source)
        for target_kind, target_span in _fields(target)
        if kind == target_kind
    )


def _fields(pieces: tuple[Piece, ...]) -> list[tuple[str, Span]]:
    fields, start = [], 0
    for piece in pieces:
        end = start + len(piece.text)
        if piece.kind != "text":
            fields.append((piece.kind, Span(start, end)))
        start = end
    return fields
