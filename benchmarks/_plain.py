"""torch's own modules, in the usual way."""

from __future__ import annotations

import math
from typing import Any

import torch
from _driver import Step, serve, torch_step
from torch import Tensor, nn


def plain_model(fields: dict[str, Any], size: int) -> nn.Module:
    width, depth, dropout = int(str(fields["width"])), int(str(fields.get("depth", 1))), float(str(fields["dropout"]))
    ffn = int(str(fields.get("ffn_width", 4 * width)))
    if fields["preset"] == "transformer":
        return PlainTransformer(size, width, depth, int(str(fields.get("heads", 4))), ffn, dropout)
    return PlainBahdanau(size, width, dropout)


class PlainTransformer(nn.Module):
    """torch.nn.Transformer with one table for source, target and output."""

    def __init__(self, size: int, width: int, depth: int, heads: int, ffn: int, dropout: float) -> None:
        super().__init__()
        self.table, self.width = nn.Embedding(size, width), width
        nn.init.normal_(self.table.weight, std=width**-0.5)  # it is the output layer too: logits of about 1
        self.drop = nn.Dropout(dropout)
        self.body = nn.Transformer(width, heads, depth, depth, ffn, dropout, batch_first=True, norm_first=True)
        self.output = nn.Linear(width, size)
        self.output.weight = self.table.weight

    def embed(self, ids: Tensor) -> Tensor:
        angles = torch.arange(ids.shape[1])[:, None] / 10000 ** (torch.arange(0, self.width, 2) / self.width)
        waves = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
        return self.drop(self.table(ids) * math.sqrt(self.width) + waves)

    def forward(self, source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        states = self.body(
            self.embed(source),
            self.embed(target),
            tgt_mask=causal,
            src_key_padding_mask=~mask,
            memory_key_padding_mask=~mask,
            tgt_is_causal=True,
        )
        return self.output(states)


class PlainBahdanau(nn.Module):
    """nn.LSTM both ways, nn.LSTMCell with additive attention in a loop."""

    def __init__(self, size: int, width: int, dropout: float) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(size, width), nn.Embedding(size, width)
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.cell = nn.LSTMCell(2 * width, width)
        self.bridge = nn.Linear(width, 2 * width)
        self.query, self.key, self.score = (nn.Linear(width, out, bias=False) for out in (width, width, 1))
        self.readout, self.output = nn.Linear(3 * width, width), nn.Linear(width, size)

    def forward(self, source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
        lengths = mask.sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(
            self.drop(self.source(source)), lengths, batch_first=True, enforce_sorted=False
        )
        states, (last, _) = self.encoder(packed)
        states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
        states, keys = self.drop(states), self.key(states)
        hidden, cell = torch.tanh(self.bridge(torch.cat((last[0], last[1]), -1))).chunk(2, -1)
        outputs = []
        for embedded in self.drop(self.target(target)).unbind(1):
            scores = self.score(torch.tanh(keys + self.query(hidden)[:, None])).squeeze(-1)
            weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
            context = (weights[:, None] @ states)[:, 0]
            hidden, cell = self.cell(torch.cat((embedded, context), -1), (hidden, cell))
            outputs.append(torch.tanh(self.readout(torch.cat((hidden, embedded, context), -1))))
        return self.output(self.drop(torch.stack(outputs, 1)))


def make(fields: dict[str, Any]) -> Step:
    return plain_step(plain_model(fields, fields["size"]))


def plain_step(model: nn.Module, rate: float = 1e-4) -> Step:
    model.train()
    return torch_step(model, lambda batch: model(batch["source"], batch["source_mask"], batch["target_in"]), rate)


if __name__ == "__main__":
    serve(make)
