"""The tree of a beam search tells what the search did."""

from __future__ import annotations

import pytest
import torch

from regard.config import SearchSettings, plan_model, settle
from regard.data.tokenizer import EOS
from regard.inference import decode
from regard.inference.beam_tree import beam_tree
from regard.models.build import build_model


@pytest.mark.parametrize("preset", ["transformer", "lstm-additive"])
def test_the_tree_leads_to_what_decode_finds(preset: str) -> None:
    config = plan_model(settle({"model": {"preset": preset, "width": 8, "heads": 2, "depth": 1}}).model)
    model = build_model(config, 9, 9, False, seed=3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)  # sharper choices
    search = SearchSettings(beams=3, max_tokens=6)
    source = [4, 5, 6]
    tree = beam_tree(model, source, search)
    (found,) = decode(model, [source], search)
    assert isinstance(found, list)
    best = found[0]
    assert tree.best == ((*best.tokens, EOS) if best.finished else best.tokens)
    known = {node.tokens for step in tree.steps for node in step}
    for length, step in enumerate(tree.steps, start=1):
        assert step and all(len(node.tokens) == length for node in step)
        assert sum(node.score is None for node in step) <= 3
        assert all(length == 1 or node.parent in known for node in step)
        assert [node.log_prob for node in step] == sorted((node.log_prob for node in step), reverse=True)
    assert tree.lineage() <= known
    if best.finished:
        (winner,) = [node for step in tree.steps for node in step if node.tokens == tree.best]
        assert winner.score == pytest.approx(best.score, abs=1e-5)
