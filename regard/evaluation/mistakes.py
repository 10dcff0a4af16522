"""The worst outputs of a model, and the kind of mistake where it can be told.

empty         there is no output
number        the same but for digits
order         the same words in another order
omission      words of the reference are missing, and nothing else is wrong
repetition    words are there that the reference has, but not so often, and nothing else is wrong
addition      the reference's words and others
other words   anything else
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sacrebleu.metrics import CHRF

Kind = Literal["empty", "number", "order", "omission", "repetition", "addition", "other words", "class", "tags"]
DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class Mistake:
    """A wrong output. `score`: how good it is, 0 to 100: sentence chrF, the share of tags right, or 100 minus the
    percentage that a classifier gave to its wrong class."""

    source: str
    reference: str
    output: str
    score: float
    kind: Kind


def kind_of(output: str, reference: str) -> Kind:
    """Of an output that is not its reference. Texts without a space are compared by characters."""
    if not output.strip():
        return "empty"
    if DIGITS.sub("0", output) == DIGITS.sub("0", reference):
        return "number"
    by_words = " " in f"{output}{reference}"
    has, wanted = (Counter(text.split() if by_words else text) for text in (output, reference))
    missing, extra = wanted - has, has - wanted
    if not missing and not extra:
        return "order"
    if not extra:
        return "omission"
    if not missing:
        return "repetition" if extra.keys() <= wanted.keys() else "addition"
    return "other words"


def worst_texts(
    sources: Sequence[str], references: Sequence[str], outputs: Sequence[str], most: int
) -> tuple[Mistake, ...]:
    """The outputs that differ from their reference, the least chrF first."""
    metric = CHRF()
    mistakes = [
        Mistake(source, reference, output, metric.sentence_score(output, [reference]).score, kind_of(output, reference))
        for source, reference, output in zip(sources, references, outputs, strict=True)
        if output != reference
    ]
    return tuple(sorted(mistakes, key=lambda mistake: mistake.score)[:most])


def worst_classes(
    sources: Sequence[str],
    references: Sequence[str],
    outputs: Sequence[str],
    probabilities: Sequence[float],
    most: int,
) -> tuple[Mistake, ...]:
    """The wrong classes, the surest first."""
    rows = zip(sources, references, outputs, probabilities, strict=True)
    mistakes = [
        Mistake(source, reference, output, 100 - 100 * sure, "class" if output else "empty")
        for source, reference, output, sure in rows
        if output != reference
    ]
    return tuple(sorted(mistakes, key=lambda mistake: mistake.score)[:most])


def worst_tags(
    sources: Sequence[str], references: Sequence[str], outputs: Sequence[str], most: int
) -> tuple[Mistake, ...]:
    """The sentences with the least share of tags right."""
    mistakes = []
    for source, reference, output in zip(sources, references, outputs, strict=True):
        if output == reference:
            continue
        wanted, has = reference.split(), output.split()
        right = sum(tag == guess for tag, guess in zip(wanted, has, strict=False))
        score = 100 * right / max(len(wanted), 1)
        mistakes.append(Mistake(source, reference, output, score, "tags" if output else "empty"))
    return tuple(sorted(mistakes, key=lambda mistake: mistake.score)[:most])
