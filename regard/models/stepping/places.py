"""Which rows of a memory each hypothesis reads: when beams change places, or sentences end, these numbers do, and the
memory itself stays where it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
import torch
from torch import Tensor

MANY = 16  # sentences, fewer of which are written before what is compiled has been loaded


@dataclass(frozen=True)
class Places:
    """Of rows R and a memory (B·S, …) that lies in one piece."""

    rows: np.ndarray  # (R, S) of int32, what is real first
    counts: np.ndarray  # (R,) of int32: how many are real

    @classmethod
    def of(cls, mask: Tensor) -> Self:
        """The mask (B, S), True = real, where each row reads a source of its own."""
        real = mask.numpy()
        starts = np.arange(0, real.size, max(real.shape[1], 1))[:, None]
        order = np.argsort(~real, axis=1, kind="stable") + starts
        return cls(order.astype(np.int32), real.sum(1, dtype=np.int32))

    def select(self, rows: np.ndarray) -> Self:
        return type(self)(self.rows[rows], self.counts[rows])

    def repeated(self, times: int) -> Self:
        """For so many rows in place of each."""
        return self if times == 1 else type(self)(self.rows.repeat(times, axis=0), self.counts.repeat(times))


def compiled_for(memory: Tensor) -> bool:
    """Whether what reads this memory, (B, …), is to be done by compiled loops."""
    return len(memory) >= MANY and memory.dtype == torch.float32 and memory.device.type == "cpu" and _has_compiled()


@cache
def _has_compiled() -> bool:
    """Whether there are compiled loops: not without the extra [fast], nor where numba cannot be used, with a NumPy that
    it does not know (ImportError) or without a folder for what it compiles (RuntimeError)."""
    try:
        import regard.nn.compiled  # noqa: F401
    except (ImportError, RuntimeError):
        return False
    return True
