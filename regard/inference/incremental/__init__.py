"""A model made ready to write token by token: what depends on the weights alone is done once, before the first step.

Its steps give what the model's own give (tested); searches know no difference.
"""

from __future__ import annotations

from regard.inference.incremental.recurrent import SteppingRecurrence, table_size
from regard.inference.incremental.transformer import SteppingTransformer
from regard.models.ensemble import Ensemble
from regard.models.recurrent import RecurrentDecoder
from regard.models.seq2seq import Decoder, Model, Seq2Seq
from regard.models.transformer import TransformerDecoder
from regard.nn.embedding import Ready

LARGEST = 2**24  # numbers in a table by token: 64 MiB


class Stepping(Seq2Seq):
    """A model with this decoder instead of its own, and its output layer made ready."""

    def __init__(self, model: Seq2Seq, decoder: Decoder) -> None:
        super().__init__(model.encoder, decoder, model.max_source, model.max_target)
        self._ready = Ready.of(decoder.output)
        self.train(model.training)

    @property
    def output_layer(self) -> Ready:
        return self._ready


def stepping(model: Model) -> Model:
    """The same model for a search, as its weights are now; a language model, which reads and writes by one network,
    is left as it is.

    A state of it may be gone on from once, as searches do.
    """
    if isinstance(model, Ensemble):
        return Ensemble([stepping(member) for member in model.members])
    return Stepping(model, _ready(model.decoder)) if isinstance(model, Seq2Seq) else model


def _ready(decoder: Decoder) -> Decoder:
    """The decoder itself where there is no faster one, or where that one's table would be large."""
    if isinstance(decoder, TransformerDecoder):
        return SteppingTransformer(decoder)
    node = decoder.as_one_node() if isinstance(decoder, RecurrentDecoder) else None
    if not isinstance(decoder, RecurrentDecoder) or node is None or table_size(decoder, node[0]) > LARGEST:
        return decoder
    return SteppingRecurrence(decoder, *node)
