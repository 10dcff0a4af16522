"""Projection: removed placeholders go where the words beside them went, and tags stay in legal order."""

import random

import numpy as np
import pytest

from regard.analysis.projection import WORD, WordAlignment, project
from regard.data.masking import PlaceholderSymbols
from regard.data.placeholders import compare_placeholders
from regard.pipeline.protection import ProtectedText, protect


def stripped(source: str) -> ProtectedText | None:
    return protect(source, PlaceholderSymbols(), "all") or protect(source, PlaceholderSymbols(), "tags")


def projected(source: str, output: str, links: dict[int, int] | None = None) -> str:
    """`links`: output word → source word, both without placeholders; without it those at the same relative position."""
    text = stripped(source)
    assert text is not None
    bare = text.masked.text
    alignment = WordAlignment.diagonal(bare, output)
    if links is not None:
        weights = np.zeros((len(WORD.findall(output)), len(WORD.findall(bare))))
        for target, origin in links.items():
            weights[target, origin] = 1
        alignment = WordAlignment(alignment.sources, alignment.targets, weights)
    return project(output, bare, text.removed, alignment)


@pytest.mark.parametrize(
    ("source", "output", "links", "expected"),
    [
        ("Hello {name}!", "Bonjour !", {0: 0, 1: 1}, "Bonjour {name} !"),
        ("Turn off {name}", "Éteindre", {0: 0}, "Éteindre {name}"),
        ("{n} files", "fichiers", {0: 0}, "{n} fichiers"),
        ("The {x} light is on.", "La lumière est allumée.", {0: 0, 1: 1, 2: 2, 3: 3}, "La {x} lumière est allumée."),
        ("the <b>red</b> door", "la porte rouge", {0: 0, 1: 2, 2: 1}, "la porte <b>rouge</b>"),
        (
            "<a>press <b>here</b></a> now",
            "maintenant presser ici",
            {0: 2, 1: 0, 2: 1},
            "maintenant <a>presser <b>ici</b></a>",
        ),
        ("<p>all of it</p>", "tout cela", {0: 0, 1: 2}, "<p>tout cela</p>"),
        ("one<br/>two", "un deux", {0: 0, 1: 1}, "un <br/>deux"),
        ("({x})", "()", {0: 0, 1: 1}, "({x})"),
    ],
)
def test_placeholders_go_with_their_words(source: str, output: str, links: dict[int, int], expected: str):
    assert projected(source, output, links) == expected


def test_tokens_are_summed_to_words():
    alignment = WordAlignment.of("ab c", "x yz", [(0, 1), (1, 2), (2, 4)], [(0, 1), (1, 3), (3, 4)], np.eye(3, 3))
    assert alignment.weights.tolist() == [[1, 0], [0.5, 0.5]]


def test_whatever_the_alignment_all_are_there_once_and_in_legal_order():
    generator = random.Random(3)
    for _ in range(300):
        words = [generator.choice(["one", "two", "three", "."]) for _ in range(generator.randrange(1, 7))]
        for tag in generator.sample(["b", "i", "u"], generator.randrange(3)):
            start = generator.randrange(len(words))
            inner = words[start : generator.randrange(start, len(words)) + 1]
            if all(word.count("<") == 0 for word in inner):
                words[start : start + len(inner)] = [f"<{tag}>{' '.join(inner)}</{tag}>"]
        for value in generator.sample(["{a}", "%s", "<br/>", "https://a.org/b"], generator.randrange(3)):
            words.insert(generator.randrange(len(words) + 1), value)
        source = " ".join(words)
        text = stripped(source)
        if text is None:
            continue
        output = " ".join(generator.choice(["un", "deux", "trois"]) for _ in range(generator.randrange(6)))
        count = len(WORD.findall(text.masked.text))
        links = {at: generator.randrange(count) for at in range(len(output.split()))} if count else None
        assert not compare_placeholders(source, projected(source, output, links)), (source, output)
