"""A Transformer as two ONNX graphs: the encoder, and the decoder with the keys and values of the tokens so far.

encoder  input_ids, attention_mask (B, S) → last_hidden_state (B, S, D)
decoder  input_ids (B, T), encoder_hidden_states, encoder_attention_mask, past_key_values.{i}.decoder.{key,value}
         (B, H, P, K) → logits (B, T, V), present.{i}.decoder.{key,value} (B, H, P + T, K)

The names, and `batch_size` as that of the batch axis, are those of optimum's exports: transformers.js gives caches of
length 0 to the first step, and takes any axis but `batch_size` for a length.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from regard.data.vocabulary import BOS, PAD
from regard.models.seq2seq import Memory, Seq2Seq
from regard.models.transformer import LayerState, TransformerDecoder, TransformerState
from regard.nn.taps import watching

NEVER = -1e9  # added to the logits of what is never written
EXAMPLE = 3  # tokens of the source, the target and the past that a graph is traced with


class EncoderGraph(nn.Module):
    """The encoder alone."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.encoder = model.encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.encoder(input_ids, attention_mask.bool()).states


class DecoderGraph(nn.Module):
    """A step of the decoder. Cross-attention's keys are computed anew: they are cheap beside passing them around."""

    def __init__(self, model: Seq2Seq, texts: int) -> None:
        super().__init__()
        assert isinstance(model.decoder, TransformerDecoder), "the caller has looked"
        self.decoder = model.decoder
        size = model.decoder.output.weight.shape[0]
        never = torch.zeros(size)
        never[[PAD, BOS, *range(texts, size)]] = NEVER
        self.register_buffer("never", never)

    def forward(self, input_ids: Tensor, states: Tensor, mask: Tensor, past: list[Tensor]) -> tuple[Tensor, ...]:
        memory = self.decoder.prepare(Memory(states, mask.bool(), states[:, 0]))
        layers = tuple(LayerState(keys, values) for keys, values in zip(past[::2], past[1::2], strict=True))
        features, after = self.decoder.advance(input_ids, memory, TransformerState(layers))
        present = [tensor for layer in after.layers for tensor in (layer.keys, layer.values)]
        return (self.decoder.output(features) + self.never, *present)


def write_graphs(model: Seq2Seq, texts: int, encoder: Path, decoder: Path) -> None:
    """`texts`: ids below are of texts; what stands above them in the vocabulary is never written."""
    batch, source = Dim("batch_size"), Dim("encoder_sequence_length", max=model.max_source or 2**20)
    target = Dim("decoder_sequence_length", max=model.max_target or 2**20)
    past = Dim("past_decoder_sequence_length", max=model.max_target or 2**20)
    ids, mask = torch.full((2, EXAMPLE), 2), torch.ones(2, EXAMPLE, dtype=torch.int64)
    graph = DecoderGraph(model, texts).eval()
    attention = next(iter(graph.decoder.layers)).self_attention
    layers = len(graph.decoder.layers)
    caches = [torch.zeros(2, attention.heads, EXAMPLE, attention.head_width) for _ in range(2 * layers)]
    names = [f"past_key_values.{i}.decoder.{part}" for i in range(layers) for part in ("key", "value")]
    with torch.no_grad(), watching(model, record=False):  # attention in the open: the fused one asks for lengths
        states = model.encoder(ids, mask.bool()).states
        rows = {0: batch, 1: source}
        _write(
            EncoderGraph(model).eval(),
            (ids, mask),
            encoder,
            ["input_ids", "attention_mask"],
            ["last_hidden_state"],
            (rows, rows),
        )
        _write(
            graph,
            (ids, states, mask, caches),
            decoder,
            ["input_ids", "encoder_hidden_states", "encoder_attention_mask", *names],
            ["logits", *(name.replace("past_key_values", "present") for name in names)],
            ({0: batch, 1: target}, rows, rows, [{0: batch, 2: past}] * len(caches)),
        )


def _write(
    graph: nn.Module,
    example: tuple[Any, ...],
    path: Path,
    inputs: list[str],
    outputs: list[str],
    shapes: tuple[Any, ...],
) -> None:
    with warnings.catch_warnings(), _only_errors_logged():
        warnings.simplefilter("ignore")  # of torch's own exporter, about itself
        torch.onnx.export(
            graph,
            example,
            str(path),
            input_names=inputs,
            output_names=outputs,
            dynamic_shapes=shapes,
            dynamo=True,
            external_data=False,
            verbose=False,
        )


@contextmanager
def _only_errors_logged() -> Iterator[None]:
    """torch's exporter warns of packages that no graph of ours needs, such as torchvision."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
