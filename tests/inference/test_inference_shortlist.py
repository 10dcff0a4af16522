"""A shortlist gives what the whole model gives where only its tokens may be written."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.config import SearchSettings, plan_model, settle
from regard.data.lexicon import Lexicon
from regard.inference import decode
from regard.inference.ensemble import Ensemble
from regard.inference.shortlist import ShortListed
from regard.kernels.fusion import fuse
from regard.models.build import build_model

SIZE = 60
GENERATOR = torch.Generator().manual_seed(3)
SOURCES = [torch.randint(3, SIZE, (1 + i % 6,), generator=GENERATOR).tolist() for i in range(12)]
PREFIXES = [[7, 3 + i] for i in range(len(SOURCES))]


def model_of(preset: str):
    config = plan_model(settle({"model": {"preset": preset, "width": 16, "depth": 1, "dropout": 0.1}}).model)
    model = fuse(build_model(config, SIZE, SIZE, True, seed=1)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    return model


def lexicon_of(count: int) -> Lexicon:
    random = np.random.default_rng(1)
    return Lexicon(random.integers(3, SIZE, (SIZE, count)), np.asarray([2, 11]))


@pytest.mark.parametrize("preset", ["lstm-additive", "transformer", "convolution", "transformer-language"])
@pytest.mark.parametrize("search", [{"beams": 1}, {"beams": 4, "n_best": 2}])
@pytest.mark.parametrize("prefixes", [None, PREFIXES], ids=["free", "begun"])
def test_others_are_as_if_they_were_impossible(two_threads, preset: str, search, prefixes) -> None:
    model, lexicon = model_of(preset), lexicon_of(2)
    plain = SearchSettings(**search, batch_tokens=1, max_tokens=8)  # a list of its own for every sentence
    listed = plain.model_copy(update={"short_list": True})
    found = decode(model, SOURCES, listed, prefixes, lexicon=lexicon)
    assert not model.training
    bias = model.output_layer.bias.clone()
    for row, source in enumerate(SOURCES):
        prefix = [] if prefixes is None else prefixes[row]
        ids = lexicon.candidates([source], prefix)
        with torch.no_grad():
            model.output_layer.bias[:] = -torch.inf
            model.output_layer.bias[ids] = bias[ids]
        [expected] = decode(model, [source], plain, [prefix])
        assert [one.tokens for one in found[row]] == [one.tokens for one in expected]
        assert [one.score for one in found[row]] == pytest.approx([one.score for one in expected], abs=1e-4)
        assert {token for one in found[row] for token in one.tokens} <= set(ids.tolist())


def test_a_list_of_everything_changes_nothing() -> None:
    model = model_of("lstm-additive")
    everything = Lexicon(np.tile(np.arange(SIZE), (SIZE, 1)), np.arange(SIZE))
    search = SearchSettings(beams=3)
    found = decode(model, SOURCES, search.model_copy(update={"short_list": True}), lexicon=everything)
    assert found == decode(model, SOURCES, search)


def test_what_a_list_holds_does_not_depend_on_the_threads(two_threads) -> None:
    model, search, batches = model_of("lstm-additive"), SearchSettings(beams=1, short_list=True, batch_tokens=16), {}
    for threads in (1, 2):
        torch.set_num_threads(threads)
        decode(model, SOURCES, search, progress=batches.setdefault(threads, []).append, lexicon=lexicon_of(2))
    assert batches[1] == batches[2] and len(batches[1]) > 2


def test_an_ensemble_has_one_list_for_all_members() -> None:
    members = [model_of("lstm-additive"), model_of("transformer")]
    ids = torch.tensor([0, 1, *range(2, SIZE, 2)])
    source = torch.tensor([SOURCES[5]])
    given = (source, torch.ones_like(source, dtype=torch.bool), torch.tensor([[1, 4, 6]]))
    expected = sum(member(*given)[..., ids].softmax(-1) for member in members) / 2
    listed = ShortListed(Ensemble(members), ids)
    memory = listed.encode(*given[:2])
    found, _ = listed.step(torch.searchsorted(ids, given[2]), memory, listed.start(memory))
    assert torch.allclose(found.exp(), expected, atol=1e-5)
