"""True means "may look", in every mask."""

from __future__ import annotations

import torch

from regard.nn.attention import weigh
from regard.nn.masks import causal_mask, key_mask


def test_a_causal_mask_looks_at_itself_and_back() -> None:
    mask = causal_mask(3, 5)
    for query in range(3):
        for key in range(5):
            assert mask[query, key] == (key <= query + 2)  # the queries are the last three of five positions


def test_a_key_mask_hides_padding_from_every_query_and_head() -> None:
    real = torch.tensor([[True, True, False], [True, False, False]])
    looks = key_mask(real).expand(2, 4, 5, 3)
    for head in range(4):
        for query in range(5):
            assert torch.equal(looks[:, head, query], real)


def test_weights_are_a_distribution_over_the_allowed_keys() -> None:
    torch.manual_seed(0)
    scores, mask = torch.randn(2, 3, 4, 5), torch.rand(2, 3, 4, 5) < 0.5
    mask[..., 1] = True
    weights = weigh(scores, mask)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 3, 4))
    assert weights[~mask].eq(0).all() and weights[mask].gt(0).all()
    for index in torch.cartesian_prod(*map(torch.arange, (2, 3, 4))).tolist():
        b, h, t = index
        allowed = [k for k in range(5) if mask[b, h, t, k]]
        total = sum(scores[b, h, t, k].exp() for k in allowed)
        for key in allowed:
            assert torch.isclose(weights[b, h, t, key], scores[b, h, t, key].exp() / total, atol=1e-6)
