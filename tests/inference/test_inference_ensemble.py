"""An ensemble: the mean of its members' probabilities, at every step."""

from __future__ import annotations

import pytest
import torch

from regard.inference.ensemble import Ensemble
from regard.inference.incremental.cached_model import incremental
from regard.inference.incremental.model import IncrementalModel

TIGHT = {"atol": 2e-5, "rtol": 1e-4}


def test_it_is_the_mean_of_probabilities(tiny, rows) -> None:
    members = [
        tiny("transformer", seed=1),
        tiny("rnn-fixed-every-step", seed=2),
        tiny("transformer-language", seed=3, shared=True),
    ]
    expected = sum(member(rows.source, rows.mask, rows.target).softmax(-1) for member in members) / 3
    logits = Ensemble(members)(rows.source, rows.mask, rows.target)
    assert torch.allclose(logits.exp(), expected, **TIGHT)


def test_a_model_beside_itself_is_itself(tiny, rows) -> None:
    model = tiny("lstm-additive")
    logits = Ensemble([model, model])(rows.source, rows.mask, rows.target)
    assert torch.allclose(logits, model(rows.source, rows.mask, rows.target).log_softmax(-1), **TIGHT)


def test_it_takes_what_all_members_take(tiny) -> None:
    short = tiny("transformer", positions="learned", max_positions=20)
    long = tiny("convolution", positions="learned", max_positions=40)
    ensemble = Ensemble([long, tiny("lstm-dot"), short])
    assert (ensemble.max_source, ensemble.max_target, ensemble.max_total) == (20, 20, None)
    assert Ensemble([tiny("lstm-dot"), tiny("transformer")]).max_source is None
    one_row = tiny("transformer-language", positions="learned", max_positions=30, shared=True)
    assert Ensemble([tiny("lstm-dot", shared=True), one_row]).max_total == 30


@pytest.mark.parametrize("large", [1, 2**18], ids=["packed", "small"])
def test_its_incremental_version_steps_as_before(tiny, rows, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.kernels.packed_linear.LARGE", large)
    ensemble = tiny("ensemble")
    fast = incremental(ensemble)
    assert isinstance(fast, Ensemble)
    assert not {type(member) for member in fast.members} & {type(member) for member in ensemble.members}
    assert torch.allclose(steps(fast, rows), ensemble(rows.source, rows.mask, rows.target), **TIGHT)


def steps(model: IncrementalModel, rows) -> torch.Tensor:
    """One token at a time."""
    with torch.inference_mode():
        memory = model.encode(rows.source, rows.mask)
        state, logits = model.start(memory), []
        for token in rows.target.split(1, dim=1):
            out, state = model.step(token, memory, state)
            logits.append(out)
    return torch.cat(logits, dim=1)


def test_it_keeps_the_mode_of_its_members(tiny) -> None:
    assert not tiny("ensemble").training
    assert Ensemble([tiny("lstm-dot").train(), tiny("transformer").train()]).training
