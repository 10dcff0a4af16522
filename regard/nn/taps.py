"""Taps: named points where a tensor may be recorded or replaced; the identity otherwise.

A tap's name is its module path (`decoder.layers.1.cross_attention.weights`). Its tensor has the queries or time steps
on axis -2, so that what a loop saw step by step joins into one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Replacement = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Watch:
    """The tensors recorded, call by call, and the replacements, by tap name."""

    names: Mapping[Tap, str]
    replace: Mapping[str, Replacement]
    record: bool = True
    recorded: dict[str, list[Tensor]] = field(default_factory=dict)

    def observe(self, tap: Tap, tensor: Tensor) -> Tensor:
        name = self.names.get(tap)
        if name is None:  # of another model
            return tensor
        if name in self.replace:
            tensor = self.replace[name](tensor)
        if self.record:
            self.recorded.setdefault(name, []).append(tensor)
        return tensor

    def tensors(self) -> dict[str, Tensor]:
        """Everything recorded, the steps of a loop joined along the query axis."""
        return {name: _join(pieces) for name, pieces in self.recorded.items()}


def _join(pieces: list[Tensor]) -> Tensor:
    """Steps one below the other; keys that an early step did not have yet had no weight in it."""
    widest = max(piece.shape[-1] for piece in pieces)
    return torch.cat([F.pad(piece, (0, widest - piece.shape[-1])) for piece in pieces], dim=-2)


_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


class Tap(nn.Module):
    """The identity, unless somebody watches."""

    def forward(self, tensor: Tensor) -> Tensor:
        watch = _watch.get()
        return tensor if watch is None else watch.observe(self, tensor)

    def if_watched(self) -> Tap | None:
        """Itself while taps are watched, else None: for a loop, where a call at each step would cost."""
        return self if watched() else None


def watched() -> bool:
    """Whether taps are watched: attention then computes its weights instead of calling a fused kernel."""
    return _watch.get() is not None


@contextmanager
def watching(
    model: nn.Module, replace: Mapping[str, Replacement] | None = None, record: bool = True
) -> Iterator[Watch]:
    """Watch every tap of a model while the block runs; without `record` only replace. Inside another block on the same
    model, what that one replaces stays replaced."""
    names: dict[Tap, str] = {module: name for name, module in model.named_modules() if isinstance(module, Tap)}
    unknown = set(replace or {}) - set(names.values())
    assert not unknown, f"no such tap: {sorted(unknown)}"
    outer = _watch.get()
    kept = outer.replace if outer is not None and outer.names == names else {}
    token = _watch.set(Watch(names, {**kept, **(replace or {})}, record))
    try:
        watch = _watch.get()
        assert watch is not None
        yield watch
    finally:
        _watch.reset(token)
