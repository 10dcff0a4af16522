"""The pointer-generator: its probabilities by hand, its map, and what it learns that generating cannot."""

from __future__ import annotations

import pytest
import torch

from regard.nn.copying import Pointer, mix
from regard.nn.embedding import Output
from regard.nn.taps import watching
from regard.training.loss import cross_entropy

DECODERS = ["transformer", "lstm-additive", "lstm-fixed", "convolution"]


def test_probabilities_by_hand() -> None:
    logits, gate = torch.tensor([[0.0, 1.0, 2.0]]), torch.tensor([[0.4]])
    copied = torch.tensor([[0.7, 0.0, 0.3]])
    g = 1 / (1 + torch.exp(-gate))
    expected = g * logits.softmax(-1) + (1 - g) * copied
    torch.testing.assert_close(mix(logits, gate, copied).exp(), expected)


def test_weights_of_equal_tokens_are_added_and_padding_is_never_copied() -> None:
    pointer = Pointer(6, Output(4, 5)).eval()
    features, states = torch.randn(2, 3, 4), torch.randn(2, 4, 6)
    source, mask = torch.tensor([[3, 1, 3, 0], [2, 2, 4, 1]]), torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]]).bool()
    with watching(pointer) as watch:
        found = pointer(features, states, mask, source)
    weights = watch.tensors()["weights"]
    assert found.shape == (2, 3, 4 + 1 + 5) and weights.shape == (2, 1, 3, 4)
    assert torch.equal(found[..., :4], features)
    copied = found[..., 5:]
    torch.testing.assert_close(copied[0, :, 3], weights[0, 0, :, 0] + weights[0, 0, :, 2])
    torch.testing.assert_close(copied[1, :, 2], weights[1, 0, :, 0] + weights[1, 0, :, 1])
    assert copied[0, :, 0].eq(0).all() and torch.allclose(copied.sum(-1), torch.ones(2, 3))


@pytest.mark.parametrize("preset", DECODERS)
def test_any_decoder_points(tiny, rows, preset: str) -> None:
    model = tiny(preset, shared=True, pointer=True)
    whole = model(rows.source, rows.mask, rows.target)
    torch.testing.assert_close(whole.exp().sum(-1), torch.ones(4, 5))
    memory = model.encode(rows.source, rows.mask)
    state, steps = model.start(memory), []
    for column in range(5):
        logits, state = model.step(rows.target[:, column : column + 1], memory, state)
        steps.append(logits)
    torch.testing.assert_close(torch.cat(steps, 1), whole, atol=2e-5, rtol=1e-4)
    alone = model(rows.source[3:, :3], rows.mask[3:, :3], rows.target[3:])
    torch.testing.assert_close(alone[0], whole[3], atol=2e-5, rtol=1e-4)
    whole[..., 4].mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    with watching(model) as watch:
        model(rows.source, rows.mask, rows.target)
    assert watch.tensors()["pointer.weights"].shape == (4, 1, 5, 7)


def test_what_training_never_wrote_is_copied(tiny) -> None:
    """Tokens 3 to 6 are learned; 7 to 10 occur in no target, so only a pointer gives them any probability."""
    generator = torch.Generator().manual_seed(2)
    right = {}
    for pointer in (True, False):
        torch.manual_seed(1)
        model = tiny("transformer", shared=True, fresh=True, pointer=pointer, depth=1, width=24, heads=2).train()
        adam = torch.optim.Adam(model.parameters(), lr=1e-2)
        for _ in range(150):
            source = torch.randint(3, 7, (16, 4), generator=generator)
            inputs = torch.cat((torch.ones(16, 1, dtype=torch.long), source[:, :-1]), 1)
            logits = model(source, torch.ones_like(source).bool(), inputs)
            loss = cross_entropy(logits, source, torch.ones_like(source).bool()).smoothed
            adam.zero_grad()
            loss.backward()
            adam.step()
        source = torch.randint(7, 11, (16, 4), generator=torch.Generator().manual_seed(5))
        inputs = torch.cat((torch.ones(16, 1, dtype=torch.long), source[:, :-1]), 1)
        logits = model.eval()(source, torch.ones_like(source).bool(), inputs)
        right[pointer] = (logits[..., :1, :].argmax(-1) == source[:, :1]).float().mean().item()
    assert right[True] > right[False] == 0
