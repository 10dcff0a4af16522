"""The LSTM with additive attention as one node: equal to its own loop in the open, with every gradient."""

from __future__ import annotations

import pytest
import torch

from regard.config import plan_model, settle
from regard.models.build import build_model
from regard.nn.taps import watching

B, S, T, V = 3, 5, 4, 11


@pytest.mark.parametrize("scale", [1, 400])  # 400: beyond REACH, where a query or a key stays what it is
@pytest.mark.parametrize("widths", [(6, 8), (8, 6)])
@pytest.mark.parametrize("query", ["state", "state-and-token"])
def test_one_node_is_the_loop(widths: tuple[int, int], scale: int, query: str) -> None:
    torch.manual_seed(1)
    fields = {"preset": "lstm-additive", "encoder_width": widths[0], "decoder_width": widths[1], "dropout": 0.0}
    fields["query"] = query
    model = build_model(plan_model(settle({"model": fields}).model), V, V, True, seed=1).double()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("score.query_proj.weight", "score.key_proj.weight")):
                parameter *= scale
    source, target = torch.randint(3, V, (B, S)), torch.randint(3, V, (B, T))
    mask = torch.arange(S) < torch.tensor([5, 2, 4]).unsqueeze(1)
    weights = torch.randn(B, T, V, dtype=torch.double)
    logits = model(source, mask, target)
    gradients = torch.autograd.grad((logits * weights).sum(), list(model.parameters()))
    with watching(model):  # somebody looks: the loop runs in the open
        expected = model(source, mask, target)
    wanted = torch.autograd.grad((expected * weights).sum(), list(model.parameters()))
    torch.testing.assert_close(logits, expected)
    for ours, theirs in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("query", ["state", "state-and-token"])
def test_in_training_the_tokens_ask_as_they_were_dropped(query: str) -> None:
    fields = {"preset": "lstm-additive", "width": 8, "dropout": 0.4, "query": query}
    model = build_model(plan_model(settle({"model": fields}).model), V, V, True, seed=1).double().train()
    torch.manual_seed(3)
    source, target = torch.randint(3, V, (B, S)), torch.randint(3, V, (B, T))
    mask = torch.ones_like(source, dtype=torch.bool)
    torch.manual_seed(4)
    logits = model(source, mask, target)
    torch.manual_seed(4)
    with watching(model):
        torch.testing.assert_close(logits, model(source, mask, target))
    assert not torch.equal(logits, model(source, mask, target)), "something is dropped"


@pytest.mark.parametrize("query", ["state", "state-and-token"])
def test_beams_share_a_memory_with_gradients_too(query: str) -> None:
    torch.manual_seed(3)
    fields = {"preset": "lstm-additive", "width": 8, "query": query}
    model = build_model(plan_model(settle({"model": fields}).model), V, V, True, seed=1).eval()
    source = torch.randint(3, V, (B, S))
    memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
    rows = torch.arange(B).repeat_interleave(2)
    state = model.start(memory)
    tokens = torch.randint(3, V, (2 * B, 1))
    shared, _ = model.step(tokens, memory, state.rearrange(rows, None))
    expected, _ = model.step(tokens, memory.select(rows), state.select(rows))
    assert shared.requires_grad
    torch.testing.assert_close(shared, expected)


def test_the_state_behind_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(2)
    model = build_model(
        plan_model(settle({"model": {"preset": "lstm-additive", "width": 8}}).model), V, V, True, seed=1
    ).eval()
    source, target = torch.randint(3, V, (B, S)), torch.randint(3, V, (B, T + 1))
    memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
    whole, _ = model.step(target, memory, model.start(memory))
    _, state = model.step(target[:, :T], memory, model.start(memory))
    last, _ = model.step(target[:, T:], memory, state)
    torch.testing.assert_close(last[:, 0], whole[:, T])
