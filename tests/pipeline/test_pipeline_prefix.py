"""Outputs that begin as they are told to, and outputs that grow."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard import Pipeline
from regard.errors import UserError
from regard.pipeline import TextGenerator, Translator, require


@pytest.fixture(scope="module")
def generator(language_run: Path) -> TextGenerator:
    return require(regard.load(language_run, threads=1), TextGenerator, "")


def source_of(translator: Pipeline) -> str:
    return next(example.source for example in translator.run.examples("test") if len(example.source) > 2)


def test_every_output_begins_with_the_prefix(translator: Pipeline) -> None:
    source = source_of(translator)
    free = translator.translate(source)
    other = next(letter for letter in "abcdefgh" if not free.text.startswith(letter))
    forced = translator.translate([source, source], prefix=other, n_best=3)
    for result in (best for each in forced for best in each.alternatives):
        assert result.text.startswith(other)
        assert result.ids[:1] == tuple(translator.target_codec.encode(other))
        assert result.trace().output_tokens[0] == result.tokens[0]
    assert translator.translate(source, prefix=free.ids[:2], beams=1).ids[:2] == free.ids[:2]


def test_a_prefix_that_the_model_would_choose_changes_nothing(translator: Pipeline) -> None:
    source = source_of(translator)
    free = translator.translate(source, beams=1)
    for length in range(1, len(free.ids)):
        assert translator.translate(source, prefix=free.ids[:length], beams=1).ids == free.ids


def test_a_language_model_goes_on_from_the_prefix_as_from_its_text(generator: TextGenerator) -> None:
    text, begun = "The ", "cat"
    search = generator.search_with(beams=1, max_tokens=12)
    apart = generator.translate_all([text], search, prefixes=[begun])[0]
    assert apart.text.startswith(begun)
    ids = generator.target_codec.encode(begun)
    whole = generator.translate_all([text], search, prefixes=[ids])[0]
    assert whole.ids == apart.ids and len(apart.ids) == len(ids) + 12


@pytest.mark.parametrize("prefix", [[0], [1], [2], [10**6], [-3]])
def test_ids_that_no_output_has_are_refused(translator: Pipeline, prefix: list[int]) -> None:
    with pytest.raises(UserError, match=f"prefix: {prefix[0]} is no id of a token"):
        translator.translate("a", prefix=prefix)


def test_a_class_has_no_prefix(classifier_run: Path) -> None:
    with pytest.raises(UserError, match="gives a class"):
        regard.load(classifier_run, threads=1).translate("bonjour", prefix="fr")


def test_a_stream_grows_into_the_greedy_output(translator: Pipeline, generator: TextGenerator) -> None:
    source = source_of(translator)
    parts = list(require(translator, Translator, "").stream(source))
    best = translator.translate(source, beams=1)
    assert parts[-1].text == best.text and parts[-1].finished and parts[-1].ids == best.ids
    assert [len(part.ids) for part in parts] == [*range(1, len(best.ids) + 1), len(best.ids)], "the last adds the end"
    begun = list(require(translator, Translator, "").stream(source, prefix=best.ids[:1]))
    assert begun[-1].ids == best.ids and begun[0].ids == best.ids[:2]
    search = generator.search_with(beams=1, max_tokens=7)
    assert list(generator.stream("The ", search))[-1].ids == generator.translate_all(["The "], search)[0].ids


def test_a_stream_of_a_model_without_a_head_is_that_model(translator: Pipeline) -> None:
    source = source_of(translator)
    silent = require(translator, Translator, "").without("decoder.layers.0.cross_attention")
    streamed = [part.ids for part in silent.stream(source)][-1]
    assert streamed == silent.translate(source, beams=1).ids != translator.translate(source, beams=1).ids


@pytest.mark.parametrize("search", [{"beams": 3}, {"n_best": 2}, {"short_list": True, "beams": 1}])
def test_what_cannot_stream_is_refused(translator: Pipeline, search: dict) -> None:
    pipeline = require(translator, Translator, "")
    with pytest.raises(UserError, match="a stream has one beam"):
        next(pipeline.stream("ab", pipeline.search_with(**search)))
