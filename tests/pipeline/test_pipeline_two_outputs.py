"""Both outputs under both models: each finds its own the more probable, and nothing is shown as something."""

from __future__ import annotations

import math

import regard
from regard.pipeline.two_outputs import log_probability, render, two_outputs

CROSS = "decoder.layers.0.cross_attention"


def test_each_model_prefers_its_own_output(translator: regard.Pipeline) -> None:
    search = translator.search_with(beams=1)
    found = two_outputs(translator, translator.moved(force={CROSS: 0}), "abcd", search)
    assert found.whole.text != found.changed.text
    assert found.by_whole is not None and found.by_whole[0] > found.by_whole[1]
    assert math.isclose(found.by_whole[0], found.whole.log_prob, abs_tol=1e-3)
    assert found.by_changed is not None and math.isclose(found.by_changed[1], found.changed.log_prob, abs_tol=1e-3)
    assert render(found).splitlines()[1].endswith(found.whole.text)


def test_an_empty_output_is_shown_as_such(translator: regard.Pipeline) -> None:
    found = two_outputs(translator, translator, " ", translator.search_with(beams=1))
    assert render(found).count("(empty)") == 2
    assert log_probability(translator, "ab", "") < -1


def test_moves_are_added_to_changes(translator: regard.Pipeline) -> None:
    blind = translator.changed(silence=[CROSS])
    both = blind.moved(patch={"encoder.layers.0.states": "dcba"})
    assert both.translate("abcd").text == blind.translate("abcd").text  # nothing of the source is read
    patched = translator.moved(patch={"encoder.layers.0.states": "dcba"})
    assert patched.translate("abcd").text == translator.translate("dcba").text
    permuted = translator.moved(permute=[CROSS], seed=2)
    assert permuted.translate("abcd").text != translator.translate("abcd").text
