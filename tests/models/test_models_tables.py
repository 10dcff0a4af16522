"""Every table of tokens is found once, and begins near the company of its tokens."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from regard.config import settle
from regard.data.company import Company
from regard.models.build import build_model
from regard.models.seq2seq import Model
from regard.models.tables import acquaint, token_tables

SOURCE, TARGET = 30, 41


def model_of(preset: str, shared: bool = False, **fields) -> Model:
    tree = {"preset": preset, "width": 16, "depth": 1, "heads": 2, "dropout": 0.0, **fields}
    return build_model(settle({"model": tree}).model, SOURCE, SOURCE if shared else TARGET, shared, seed=1)


@pytest.mark.parametrize(
    ("preset", "shared", "fields", "expected"),
    [
        ("transformer", True, {}, [("source", SOURCE, 16)]),
        ("transformer", False, {}, [("source", SOURCE, 16), ("target", TARGET, 16)]),
        ("transformer", True, {"tied_embeddings": False}, [("source", SOURCE, 16)] + [("target", SOURCE, 16)] * 2),
        ("lstm-additive", False, {"encoder_width": 24}, [("source", SOURCE, 24)] + [("target", TARGET, 16)] * 2),
        ("convolution", True, {}, [("source", SOURCE, 16)]),
    ],
)
def test_each_table_is_found_once(preset: str, shared: bool, fields: dict, expected: list) -> None:
    found = [(side, *table.shape) for side, table in token_tables(model_of(preset, shared, **fields))]
    assert found == expected


def test_vectors_begin_near_their_company_and_differ() -> None:
    model, drawn = model_of("lstm-additive", encoder_width=24), model_of("lstm-additive", encoder_width=24)
    vectors = torch.randn(SOURCE + TARGET, 24, generator=torch.Generator().manual_seed(1))
    vectors[5] = vectors[4]  # they always stand together
    vectors[6] = vectors[SOURCE + 7] = 0  # they have none
    company = Company(vectors, SOURCE, shared=False, seed=1)
    acquaint(model, company)
    for (side, table), (_, before) in zip(token_tables(model), token_tables(drawn), strict=True):
        near = company.source(table.shape[1]) if side == "source" else company.target(table.shape[1])
        alone = 6 if side == "source" else 7
        known = [row for row in range(len(table)) if row != alone]
        assert F.cosine_similarity(table, near)[known].min() > 0.9
        torch.testing.assert_close(table[known].norm(dim=1), torch.ones(len(known)))
        assert torch.equal(table[alone], before[alone])
        if side == "source":
            assert 0.85 < F.cosine_similarity(table[4], table[5], dim=0) < 0.999
