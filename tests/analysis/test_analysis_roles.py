"""Roles: heads made to do one thing are found doing it, and uniform attention is found at chance."""

from __future__ import annotations

import pytest
import torch

from regard.analysis.roles import TokenTruth, measure_roles, render, token_truth
from regard.analysis.trace import Trace
from regard.data.embedded.stories import Span
from regard.data.embedded.truth import Truth

SOURCE = ("Ann", " ran", " .", " She", " ran", "</s>")
SELF, CROSS, MASKED = "encoder.layers.0.self_attention", "decoder.attention", "decoder.layers.0.self_attention"


def rows(*keys: int) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(keys), 6).float()


def one_trace() -> Trace:
    back, ahead, self_, end = rows(0, 0, 1, 2, 3, 4), rows(1, 2, 3, 4, 5, 5), rows(0, 1, 2, 3, 4, 5), rows(*[5] * 6)
    same, antecedent = rows(5, 4, 5, 5, 1, 5), rows(5, 5, 5, 0, 5, 5)
    flat = torch.full((6, 6), 1 / 6)
    heads = torch.stack((back, ahead, self_, end, same, antecedent, flat))[None]
    cross = torch.stack((rows(1, 0, 5), torch.full((3, 6), 1 / 6)))[None]
    masked = torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]])[None, None]
    tensors = {f"{SELF}.weights": heads, f"{MASKED}.weights": masked, f"{CROSS}.weights": cross}
    return Trace(tensors, SOURCE, ("<s>", "courut", " Ann"), ("courut", " Ann", "</s>"))


KNOWN = token_truth(
    Truth(aligned=((Span(4, 7), Span(0, 6)), (Span(0, 3), Span(7, 10))), antecedents=((Span(9, 12), Span(0, 3)),)),
    [(0, 3), (3, 7), (7, 8), (8, 12), (12, 16)],
    [(0, 6), (6, 10)],
)


def test_truth_of_characters_becomes_truth_of_tokens() -> None:
    assert KNOWN.antecedents.nonzero().tolist() == [[3, 0]]
    assert KNOWN.aligned.shape == (3, 6) and KNOWN.aligned.nonzero().tolist() == [[0, 1], [1, 0]]
    assert token_truth(Truth(), [(0, 3)], [(0, 2)]) == TokenTruth(None, None)


def test_heads_that_do_one_thing_are_named_after_it() -> None:
    report = measure_roles([one_trace()] * 30, [KNOWN] * 30)
    heads = {(one.attention, one.head): one for one in report.heads}
    roles = [heads[SELF, head].role for head in range(7)]
    assert roles == ["previous", "next", "itself", "end", "same word", "antecedent", None]
    assert heads[CROSS, 0].role == "aligned" and heads[CROSS, 1].role is None
    share = heads[SELF, 4].shares["same word"]
    assert (share.weight, share.most, share.queries) == (1, 1, 60)  # "ran" and "ran"
    assert share.chance == pytest.approx(1 / 6)
    text = render(report)
    assert "100/100" in text and text.splitlines()[-1].endswith("-") and "by chance" in text


def test_uniform_attention_is_at_chance_under_a_mask_too() -> None:
    report = measure_roles([one_trace()], [KNOWN])
    for one in report.heads:
        if (one.attention, one.head) in ((SELF, 6), (MASKED, 0), (CROSS, 1)):
            for role, share in one.shares.items():
                assert share.weight == pytest.approx(share.chance), role
        if one.attention == MASKED:
            assert one.shares.keys() == {"previous", "itself", "first"}  # no future, and no end
            assert one.shares["itself"].queries == 2  # the first has no choice
            assert one.shares["itself"].chance == pytest.approx((1 / 2 + 1 / 3) / 2)


def test_few_queries_name_nothing() -> None:
    (first, *_) = measure_roles([one_trace()], [KNOWN]).heads
    assert first.shares["previous"].weight == 1 and first.role is None
