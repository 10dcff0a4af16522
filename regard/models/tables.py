"""The tables of a model that have a row for every token: what is read of sources and targets, and the output layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import torch
from torch import nn
from torch.nn import functional as F

from regard.data.company import Company
from regard.models.seq2seq import Model
from regard.nn.embedding import Embedding, Output

DRAWN = 0.3  # how long the drawn vector is that is added to one of company: tokens that always stand together differ


def token_tables(model: Model) -> Iterator[tuple[Literal["source", "target"], nn.Parameter]]:
    """Each of them once, with the side whose tokens it has (one that both sides share has the sources')."""
    found: set[int] = set()
    for name, module in model.named_modules():
        if isinstance(module, Embedding | Output) and id(module.weight) not in found:
            found.add(id(module.weight))
            yield "source" if name.startswith("encoder.") else "target", module.weight


@torch.no_grad()
def acquaint(model: Model, company: Company) -> None:
    """Put the vectors of all tokens near those of their company; a token that has none stays where it was drawn."""
    for side, table in token_tables(model):
        width = table.shape[1]
        near = company.source(width) if side == "source" else company.target(width)
        mixed = F.normalize(near + DRAWN * F.normalize(table, dim=1), dim=1)
        table.copy_(torch.where(near.any(1, keepdim=True), mixed, table))
