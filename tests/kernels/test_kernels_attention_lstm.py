"""The LSTM with additive attention as one node against the loop of its decoder, with every gradient."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch

from regard.config import plan_model, settle
from regard.kernels.attention_lstm import AttentionLSTMWeights
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.nn.taps import watching

B, S, T, V = 3, 5, 4, 11


@pytest.mark.parametrize("scale", [1, 400])  # 400: beyond LIMIT, where a query or a key is clamped
@pytest.mark.parametrize("widths", [(6, 8), (8, 6)])
@pytest.mark.parametrize("query", ["state", "state-and-token"])
def test_one_node_is_the_loop(widths: tuple[int, int], scale: int, query: str) -> None:
    """At scale 1 the plain model is the reference; beyond LIMIT only the fused scores are clamped."""
    torch.manual_seed(1)
    fields = {"preset": "lstm-additive", "encoder_width": widths[0], "decoder_width": widths[1], "dropout": 0.0}
    fields["query"] = query
    plain = build_model(plan_model(settle({"model": fields}).model), V, V, True, seed=1).double()
    with torch.no_grad():
        for name, parameter in plain.named_parameters():
            if name.endswith(("score.query_proj.weight", "score.key_proj.weight")):
                parameter *= scale
    fused = fuse(deepcopy(plain))
    source, target = torch.randint(3, V, (B, S)), torch.randint(3, V, (B, T))
    mask = torch.arange(S) < torch.tensor([5, 2, 4]).unsqueeze(1)
    weights = torch.randn(B, T, V, dtype=torch.double)
    logits = fused(source, mask, target)
    gradients = torch.autograd.grad((logits * weights).sum(), list(fused.parameters()))
    with watching(fused):  # the loop, with fused scores
        looped = fused(source, mask, target)
    references = [(looped, fused)] if scale > 1 else [(looped, fused), (plain(source, mask, target), plain)]
    for expected, model in references:
        torch.testing.assert_close(logits, expected)
        expected_gradients = torch.autograd.grad((expected * weights).sum(), list(model.parameters()))
        for ours, theirs in zip(gradients, expected_gradients, strict=True):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("query", ["state", "state-and-token"])
def test_in_training_queries_have_the_tokens_after_dropout(query: str) -> None:
    fields = {"preset": "lstm-additive", "width": 8, "dropout": 0.4, "query": query}
    model = fuse(build_model(plan_model(settle({"model": fields}).model), V, V, True, seed=1)).double().train()
    torch.manual_seed(3)
    source, target = torch.randint(3, V, (B, S)), torch.randint(3, V, (B, T))
    mask = torch.ones_like(source, dtype=torch.bool)
    torch.manual_seed(4)
    logits = model(source, mask, target)
    torch.manual_seed(4)
    with watching(model):
        torch.testing.assert_close(logits, model(source, mask, target))
    assert not torch.equal(logits, model(source, mask, target)), "something is dropped"


def test_its_state_can_be_continued() -> None:
    torch.manual_seed(2)
    fields = {"preset": "lstm-additive", "width": 8}
    model = fuse(build_model(plan_model(settle({"model": fields}).model), V, V, True, seed=1)).eval()
    source, target = torch.randint(3, V, (B, S)), torch.randint(3, V, (B, T + 1))
    memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
    whole, _ = model.step(target, memory, model.start(memory))
    _, state = model.step(target[:, :T], memory, model.start(memory))
    last, _ = model.step(target[:, T:], memory, state)
    torch.testing.assert_close(last[:, 0], whole[:, T])


@pytest.mark.parametrize(
    "fields", [{"depth": 2}, {"score": "dot", "decoder_width": 12}, {"cell": "gru"}, {"score": "multi-head"}], ids=str
)
def test_other_decoders_have_no_such_node(tiny, fields) -> None:
    assert AttentionLSTMWeights.of(tiny("lstm-additive", **{"depth": 1, **fields}).decoder) is None
