"""Which rows of something that lies in one piece each hypothesis looks at: when beams change places, or sentences end,
these numbers do, and what is looked at stays where it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
import torch
from torch import Tensor

from regard.models.seq2seq import Record


@dataclass(frozen=True)
class Places(Record):
    rows: np.ndarray  # (R, S) of int32
    counts: np.ndarray  # (R,) of int32: how many of them, from the first on

    @classmethod
    def of(cls, mask: Tensor) -> Self:
        """Those of (B·S, …) that the mask (B, S) says are real, a row a source."""
        real = mask.numpy()
        starts = np.arange(0, real.size, max(real.shape[1], 1))[:, None]
        order = np.argsort(~real, axis=1, kind="stable") + starts
        return cls(order.astype(np.int32), real.sum(1, dtype=np.int32))

    def rearrange(self, rows: Tensor, sources: Tensor | None) -> Self:
        chosen = rows.numpy()
        return type(self)(self.rows[chosen], self.counts[chosen])

    def repeated(self, times: int) -> Self:
        """For so many rows in place of each."""
        return self if times == 1 else type(self)(self.rows.repeat(times, axis=0), self.counts.repeat(times))


def compiled_for(memory: Tensor) -> bool:
    """Whether what looks at this memory can be done by compiled loops."""
    return memory.dtype == torch.float32 and memory.device.type == "cpu" and _has_compiled()


@cache
def _has_compiled() -> bool:
    """Whether there are any, which is tried: without the extra [fast], without a folder for what numba compiles, with a
    NumPy that it does not know, there are none, and torch does the same."""
    try:
        from regard.nn.compiled import attend, attend_additively

        numbers, slots, counts = np.ones((1, 1), np.float32), np.zeros((1, 1), np.int32), np.ones(1, np.int32)
        found = np.zeros((2, 1, 1), np.float32)
        attend(numbers, numbers.reshape(1, 1, 1, 1).repeat(2, axis=2), slots, counts, 0, 1, found[0])
        attend_additively(numbers, numbers, numbers, slots, counts, numbers[0], found[1])
    except Exception:  # whatever it is, it must not end a search
        return False
    return hasattr(attend, "signatures") and bool((found == 1).all())  # NUMBA_DISABLE_JIT leaves plain functions
