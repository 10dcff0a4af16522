"""Incremental decoding with a pointer: the decoder's own incremental version, and what the pointer adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from torch import Tensor

from regard.inference.incremental.lstm import IncrementalLSTM
from regard.inference.incremental.model import IncrementalModel
from regard.inference.incremental.output import OutputLayer, output_of
from regard.inference.incremental.transformer import IncrementalTransformer
from regard.models.seq2seq import Record, Seq2Seq
from regard.nn.copying import Pointer


@dataclass(frozen=True)
class PointerCache(Record):
    plain: Record  # what the decoder reads
    states: Tensor  # (B, S, D)
    mask: Tensor  # (B, S), True = real
    source: Tensor  # (B, S)


class IncrementalPointer(IncrementalModel):
    """All hypotheses of a sentence share its row of the memory."""

    shares_memory = True

    @classmethod
    def of(cls, model: Seq2Seq) -> Self | None:
        """None without a pointer, and for decoders that have no incremental version."""
        decoder = IncrementalTransformer.of(model) or IncrementalLSTM.of(model)
        return None if decoder is None or model.pointer is None else cls(model, decoder, model.pointer)

    def __init__(self, model: Seq2Seq, decoder: IncrementalTransformer | IncrementalLSTM, pointer: Pointer) -> None:
        super().__init__(model)
        self.encoder, self.decoder, self.pointer = model.encoder, decoder, pointer
        self._output = output_of(pointer.output, packed=True)

    @property
    def output(self) -> OutputLayer:
        return self._output

    def encode(self, source: Tensor, mask: Tensor) -> PointerCache:
        memory = self.encoder(source, mask)
        return PointerCache(self.decoder.prepare(memory), memory.states, mask, source)

    def start(self, memory: Record) -> Record:
        assert isinstance(memory, PointerCache)
        return self.decoder.start(memory.plain)

    def advance(self, tokens: Tensor, memory: Record, state: Record) -> tuple[Tensor, Record]:
        assert isinstance(memory, PointerCache)
        features, after = self.decoder.advance(tokens, memory.plain, state)
        return self.pointer(features, memory.states, memory.mask, memory.source), after
