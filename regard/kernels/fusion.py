"""The one place that says which layers have a fused version, and puts these into a model.

A fused layer is a subclass with the same parameters. Its forward computes the same as the plain one, faster; where its
kernel does not apply, or a tap is watched, it calls the plain forward. The models' code does not know of it.
"""

from __future__ import annotations

from typing import TypeVar

from torch import nn

from regard.kernels.additive import FusedAdditive
from regard.kernels.attention_lstm import FusedRecurrentDecoder
from regard.kernels.dropout import FusedDropout, FusedResidual
from regard.kernels.feed_forward import FusedFeedForward
from regard.kernels.rnn import FusedDirectedLayer, FusedGRUCell, FusedLSTMCell, FusedVanillaCell
from regard.models.recurrent import DirectedLayer, RecurrentDecoder
from regard.nn.attention import Additive
from regard.nn.blocks import FeedForward, Residual
from regard.nn.recurrent import GRUCell, LSTMCell, VanillaCell

FUSED: dict[type[nn.Module], type[nn.Module]] = {
    nn.Dropout: FusedDropout,
    Residual: FusedResidual,
    FeedForward: FusedFeedForward,
    Additive: FusedAdditive,
    VanillaCell: FusedVanillaCell,
    LSTMCell: FusedLSTMCell,
    GRUCell: FusedGRUCell,
    DirectedLayer: FusedDirectedLayer,
    RecurrentDecoder: FusedRecurrentDecoder,
}

AnyModule = TypeVar("AnyModule", bound=nn.Module)


def fuse(model: AnyModule) -> AnyModule:
    """The same model, each layer of which now has the class of its fused version, where there is one.

    As in torch's own `fully_shard` the class changes in place: parameters, their names and references to them stay.
    """
    for module in model.modules():
        module.__class__ = FUSED.get(type(module), type(module))
    return model
