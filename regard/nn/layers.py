"""A list of layers that knows what its layers are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar, cast

from torch import nn

Layer = TypeVar("Layer", bound=nn.Module)


class Layers(nn.ModuleList, Generic[Layer]):
    """torch's ModuleList with a type: named, trained and saved as any other."""

    def __iter__(self) -> Iterator[Layer]:
        return cast("Iterator[Layer]", super().__iter__())
