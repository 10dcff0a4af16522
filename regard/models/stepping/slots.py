"""What a Transformer that writes can look at, where loops are compiled: no keys and values are ever moved.

Each token of each hypothesis has a slot, in the order in which they were written. A hypothesis knows the slots of its
tokens: when beams change places, or sentences end, their lists do, a few numbers a row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from regard.models.stepping.past import Past
from regard.models.stepping.places import Places
from regard.nn.compiled import attend

ROOM = 16  # slots for each row that it begins with; np.empty takes no memory before they are written


@dataclass(frozen=True)
class Slots(Past):
    store: np.ndarray  # (N, L, 2, D), keys and values
    taken: int
    own: Places  # the slots of each row's tokens
    memory: np.ndarray  # (B·S, L, 2, D)
    read: Places  # what each row looks at there

    @classmethod
    def begun(cls, memory: Tensor, mask: Tensor, heads: int) -> Self:
        """Keys and values (B, S, L, 2, D) and the mask (B, S)."""
        batch, _, *shape = memory.shape
        return cls(
            heads=heads,
            length=0,
            store=np.empty((ROOM * batch, *shape), np.float32),
            taken=0,
            own=Places(np.empty((batch, 0), np.int32), np.zeros(batch, np.int32)),
            memory=memory.flatten(0, 1).numpy(),
            read=Places.of(mask),
        )

    def grown(self, tokens: int) -> Self:
        rows, store = len(self.own.rows), self.store
        taken = self.taken + rows * tokens
        if taken > len(store):
            store = np.empty((2 * taken, *store.shape[1:]), np.float32)
            store[: self.taken] = self.store[: self.taken]
        new = np.arange(self.taken, taken, dtype=np.int32).reshape(rows, tokens)
        own = Places(np.concatenate((self.own.rows, new), axis=1), self.own.counts + np.int32(tokens))
        return replace(self, length=self.length + tokens, store=store, taken=taken, own=own)

    def look_back(self, layer: int, product: Tensor, bias: Tensor | None) -> Tensor:
        assert bias is None or bias.dim() == 2, "slopes are torch's; what comes later is not looked at"
        given, width = product.numpy(), self.store.shape[3]
        rows, tokens = len(given), len(given) // len(self.own.rows)
        self.store[self.taken - rows : self.taken, layer] = given[:, width:].reshape(rows, 2, width)
        own = self.own.repeated(tokens)
        later = np.arange(tokens - 1, -1, -1, dtype=np.int32)
        return self._asked(given, self.store, Places(own.rows, own.counts - np.resize(later, rows)), layer)

    def look_across(self, layer: int, asked: Tensor) -> Tensor:
        return self._asked(asked.numpy(), self.memory, self.read.repeated(len(asked) // len(self.read.rows)), layer)

    def _asked(self, asked: np.ndarray, store: np.ndarray, places: Places, layer: int) -> Tensor:
        found = np.empty((len(asked), store.shape[-1]), np.float32)
        attend(asked, store, places.rows, places.counts, layer, self.heads, found)
        return torch.from_numpy(found)
