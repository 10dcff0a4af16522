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
    seen: np.ndarray  # (R, length) of int32: the slots of each row's tokens
    memory: np.ndarray  # (B·S, L, 2, D)
    places: Places  # what each row looks at there

    @classmethod
    def begun(cls, memory: Tensor, mask: Tensor, heads: int) -> Self:
        """Keys and values (B, S, L, 2, D) and the mask (B, S)."""
        batch, length, *shape = memory.shape
        return cls(
            heads=heads,
            length=0,
            store=np.empty((ROOM * batch, *shape), np.float32),
            taken=0,
            seen=np.empty((batch, 0), np.int32),
            memory=memory.numpy().reshape(batch * length, *shape),
            places=Places.of(mask),
        )

    def rearrange(self, rows: Tensor, sources: Tensor | None) -> Self:
        """What belongs to a source is not moved either: each row knows where to read."""
        chosen = rows.numpy()
        return replace(self, seen=self.seen[chosen], places=self.places.select(chosen))

    def grown(self, tokens: int) -> Self:
        rows = len(self.seen)
        taken = self.taken + rows * tokens
        store = self.store
        if taken > len(store):
            store = np.empty((2 * taken, *store.shape[1:]), np.float32)
            store[: self.taken] = self.store[: self.taken]
        own = np.arange(self.taken, taken, dtype=np.int32).reshape(rows, tokens)
        return replace(
            self,
            length=self.length + tokens,
            store=store,
            taken=taken,
            seen=np.concatenate((self.seen, own), axis=1),
        )

    def look_back(self, layer: int, product: Tensor, bias: Tensor | None) -> Tensor:
        assert bias is None or bias.dim() == 2, "slopes are torch's; what comes later is not looked at"
        given, width = product.numpy(), self.store.shape[3]
        rows, tokens = len(given), len(given) // len(self.seen)
        self.store[self.taken - rows : self.taken, layer] = given[:, width:].reshape(rows, 2, width)
        seen, counts = self.seen, np.full(rows, self.length, np.int32)
        if tokens > 1:
            seen = seen.repeat(tokens, axis=0)
            counts -= np.tile(np.arange(tokens - 1, -1, -1, dtype=np.int32), len(self.seen))
        return self._asked(given, self.store, seen, counts, layer)

    def look_across(self, layer: int, asked: Tensor) -> Tensor:
        places = self.places.repeated(len(asked) // len(self.seen))
        return self._asked(asked.numpy(), self.memory, places.rows, places.counts, layer)

    def _asked(self, asked: np.ndarray, store: np.ndarray, slots: np.ndarray, counts: np.ndarray, layer: int) -> Tensor:
        found = torch.empty(len(asked), store.shape[-1])
        attend(asked, store, slots, counts, layer, self.heads, found.numpy())
        return found
