"""The receptive field of convolutions: which tokens the output of a layer can depend on at all, exact by structure.

Layer l of the encoder or decoder sees the positions t - l·past … t + l·future of its own tokens. The decoder sees the
source by attention, which has a map of its own.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.models.seq2seq import Model
from regard.nn.convolution import GatedConvolution


def receptive_fields(model: Model, sources: int, targets: int) -> dict[str, Tensor]:
    """By the convolution's path: (T, T), 1 where the row's output of its layer can see the column's input, else 0."""
    fields: dict[str, Tensor] = {}
    reach: dict[str, tuple[int, int]] = {}  # of each side so far
    for name, module in model.named_modules():
        if isinstance(module, GatedConvolution):
            side = name.split(".")[0]
            past, future = reach.get(side, (0, 0))
            reach[side] = past, future = past + module.past, future + module.future
            length = sources if side == "encoder" else targets
            fields[name] = torch.ones(length, length).tril(future).triu(-past)
    return fields
