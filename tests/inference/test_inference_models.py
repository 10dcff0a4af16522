"""The same searches over every architecture: only the contract is used, so all must agree with teacher forcing."""

from __future__ import annotations

import pytest
import torch

from regard.config import PRESETS, SearchSettings, plan_model, settle
from regard.inference import TooLong, classify, decode
from regard.inference.batching import pad_sources
from regard.inference.beam import beam_search
from regard.inference.ensemble import Ensemble
from regard.inference.greedy import greedy_search
from regard.inference.incremental.model import stepwise
from regard.kernels.fusion import fuse
from regard.models.build import build_model

SIZE = 13
SOURCES = [[5, 3, 4, 9, 12, 7], [3], [], [4, 4, 5, 3, 3], [6, 11]]
TEXTS = [name for name in PRESETS if not name.startswith("image-")]
WRITERS = [name for name in TEXTS if PRESETS[name].fields["decoder"] != "none"] + ["ensemble"]
CLASSIFIERS = [name for name in TEXTS if name.endswith("classifier")]


def small(preset, classes=SIZE):
    if preset == "ensemble":
        return Ensemble([small(one) for one in ("transformer", "lstm-additive", "transformer-language")])
    fields = {"preset": preset, "width": 16, "heads": 2, "depth": 2, "dropout": 0.3, "tied_embeddings": False}
    return fuse(build_model(plan_model(settle({"model": fields}).model), SIZE, classes, False, seed=3))


def alone(model, source, target):
    """Log-probabilities of target tokens of one unpadded row, all at once."""
    ids = torch.tensor([[*source, 2]])
    with torch.inference_mode():
        logits = model.eval()(ids, torch.ones_like(ids, dtype=torch.bool), torch.tensor([[1, *target[:-1]]]))
    return torch.log_softmax(logits[0], -1).gather(1, torch.tensor(target).unsqueeze(1)).squeeze(1).tolist()


@pytest.mark.parametrize("preset", WRITERS)
@pytest.mark.parametrize("batch_tokens", [1, 4096])  # a batch a row, two at once; or all in one
def test_every_search_reports_the_log_probabilities_of_teacher_forcing(two_threads, preset, batch_tokens):
    model = small(preset)
    prefixes = [[], [7, 8], [3], [], [9, 9]]
    for search in ({"beams": 1}, {"beams": 4, "n_best": 3}, {"sample": True, "n_best": 2, "temperature": 0.7}):
        results = decode(model, SOURCES, SearchSettings(max_tokens=9, batch_tokens=batch_tokens, **search), prefixes)
        for source, prefix, found in zip(SOURCES, prefixes, results, strict=True):
            for one in found:
                whole = [*prefix, *one.tokens, *([2] if one.finished else [])]
                assert one.token_log_probs == pytest.approx(alone(model, source, whole)[len(prefix) :], abs=2e-4)


@pytest.mark.parametrize("preset", WRITERS)
def test_one_beam_is_greedy_and_the_batch_does_not_matter(preset):
    model = stepwise(small(preset).eval())
    source, mask = pad_sources(SOURCES, torch.device("cpu"))
    first, limits = torch.ones(5, 1, dtype=torch.long), torch.tensor([7, 9, 4, 12, 5])
    with torch.inference_mode():
        memory = model.encode(source, mask)
        greedy = greedy_search(model, memory, first, limits, 1.0)
        beam = beam_search(model, memory, first, limits, SearchSettings(beams=1))
    assert [found[0].tokens for found in beam] == [found[0].tokens for found in greedy]
    together = decode(model, SOURCES, SearchSettings(beams=1, max_tokens=12))
    for source, found in zip(SOURCES, together, strict=True):
        (single,) = decode(model, [source], SearchSettings(beams=1, max_tokens=12))
        assert single[0].tokens == found[0].tokens
        assert single[0].log_prob == pytest.approx(found[0].log_prob, abs=2e-4)
    wide = decode(model, SOURCES, SearchSettings(beams=5, length_penalty=0.0, max_tokens=12))
    split = decode(model, SOURCES, SearchSettings(beams=5, length_penalty=0.0, max_tokens=12, batch_tokens=1))
    assert [found[0].tokens for found in wide] == [found[0].tokens for found in split]


@pytest.mark.parametrize("preset", CLASSIFIERS)
def test_classes_sum_to_one_and_do_not_depend_on_the_batch(preset):
    model = small(preset, classes=4)
    together = classify(model, SOURCES)
    for source, found in zip(SOURCES, together, strict=True):
        assert len(found) == 4 and sum(found) == pytest.approx(1)
        assert found == pytest.approx(classify(model, [source])[0], abs=1e-5)
    assert together[0] != pytest.approx(together[1], abs=1e-3)


def test_learned_positions_end_where_they_end():
    """A model of 8 positions reads 8 and writes 8 (BOS is read, the last is not), and says so of what is longer."""
    fields = {"width": 16, "heads": 2, "positions": "learned", "max_positions": 8}
    search = SearchSettings(beams=1)
    model = fuse(
        build_model(plan_model(settle({"model": {"preset": "transformer", **fields}}).model), SIZE, SIZE, False, seed=3)
    )
    seven, eight = decode(model, [[3] * 7, [3] * 8], search)
    assert len(seven[0].token_log_probs) <= 8
    assert eight == TooLong("source", 9, 8)

    one_row = fuse(
        build_model(
            plan_model(settle({"model": {"preset": "transformer-language", **fields}}).model),
            SIZE,
            SIZE,
            True,
            seed=3,
        )
    )
    three, six, seven = decode(one_row, [[3] * 3, [3] * 6, [3] * 7], search)
    assert len(three[0].token_log_probs) <= 4 + 1 and len(six[0].token_log_probs) == 1
    assert seven == TooLong("source and prefix", 9, 8)
    (continued,) = decode(one_row, [[]], search, [[4] * 6])
    assert len(continued[0].token_log_probs) == 1
