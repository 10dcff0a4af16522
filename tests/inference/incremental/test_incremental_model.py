"""Every family as searches know it: hypotheses that share a row of the memory, or have one each."""

from __future__ import annotations

import pytest
import torch

from regard.config import PRESETS
from regard.inference.incremental.cached_model import incremental
from regard.inference.incremental.model import StepwiseModel, stepwise

WRITERS = [
    *(name for name in PRESETS if not name.startswith("image-") and PRESETS[name].fields.get("decoder") != "none"),
    "ensemble",
]
TIGHT = {"atol": 2e-5, "rtol": 1e-4}


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("convert", [stepwise, incremental])
@pytest.mark.parametrize("preset", WRITERS)
def test_hypotheses_of_a_sentence(tiny, rows, preset: str, convert, depth: int) -> None:
    """Three a sentence, from one state after two tokens; then the second and the last sentence leave, and hypotheses
    take each other's place."""
    plain, model = stepwise(tiny(preset, depth=depth)), convert(tiny(preset, depth=depth))
    hypotheses = torch.arange(len(rows.mask)).repeat_interleave(3)
    tokens = 3 + torch.arange(len(hypotheses))[:, None] % 7
    sentences = torch.tensor([0, 2])
    moved = (sentences.unsqueeze(1) * 3 + torch.tensor([2, 0, 0])).flatten()
    with torch.inference_mode():
        expected = []
        whole = plain.encode(rows.source, rows.mask).select(hypotheses)
        _, state = plain.step(rows.target[hypotheses, :2], whole, plain.start(whole))
        logits, state = plain.step(tokens, whole, state)
        expected.append(logits)
        expected.append(plain.step(tokens[moved], whole.select(moved), state.select(moved))[0])

        memory = model.encode(rows.source, rows.mask)
        _, state = model.step(rows.target[:, :2], memory, model.start(memory))
        memory = memory if model.shares_memory else memory.select(hypotheses)
        logits, state = model.step(tokens, memory, state.select(hypotheses))
        torch.testing.assert_close(logits, expected[0], **TIGHT)
        memory = memory.select(sentences if model.shares_memory else moved)
        torch.testing.assert_close(model.step(tokens[moved], memory, state.select(moved))[0], expected[1], **TIGHT)


@pytest.mark.parametrize(
    ("preset", "shares"),
    [
        ("transformer", True),
        ("lstm-additive", True),
        ("convolution", False),
        ("rnn-language", True),
        ("lstm-dot", False),
    ],
)
def test_which_share_a_memory(tiny, preset: str, shares: bool) -> None:
    assert incremental(tiny(preset, depth=1)).shares_memory == shares
    assert not stepwise(tiny("transformer")).shares_memory


def test_a_model_by_its_own_steps_is_the_model(tiny, rows) -> None:
    model = tiny("convolution")
    wrapped = stepwise(model)
    assert isinstance(wrapped, StepwiseModel) and stepwise(wrapped) is wrapped
    given = (rows.source, rows.mask, rows.target)
    assert torch.equal(wrapped(*given), model(*given))
