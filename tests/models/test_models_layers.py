"""Transformer layers and recurrent encoders against torch's own modules with the same weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.models.recurrent import RecurrentEncoder
from regard.models.transformer import DecoderLayer, EncoderLayer, LayerShape, SourceKeys
from regard.nn.attention import MultiHeadAttention
from regard.nn.blocks import FeedForward
from regard.nn.embedding import Embedding
from regard.nn.masks import causal_mask, key_mask

B, T, S, D, H, F = 3, 4, 5, 12, 3, 10


def shape(norm: str, activation: str) -> LayerShape:
    return LayerShape(D, H, "split", F, norm, activation, 0.0, 0.0, 0.0, None)


def stirred(module: nn.Module) -> nn.Module:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.4 * torch.randn_like(parameter))
    return module


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Our attention has no biases: torch's are set to zero."""
    theirs.in_proj_weight.copy_(torch.cat((ours.query_proj.weight, ours.key_proj.weight, ours.value_proj.weight)))
    theirs.out_proj.weight.copy_(ours.output_proj.weight)
    theirs.in_proj_bias.zero_()
    theirs.out_proj.bias.zero_()


def copy_feed_forward(ours: FeedForward, theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> None:
    theirs.linear1.load_state_dict(ours.inner_proj.state_dict())
    theirs.linear2.load_state_dict(ours.output_proj.state_dict())


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_an_encoder_layer_is_torchs_own(norm: str, activation: str) -> None:
    torch.manual_seed(0)
    ours = stirred(EncoderLayer(shape(norm, activation)))
    theirs = nn.TransformerEncoderLayer(D, H, F, 0.0, activation, batch_first=True, norm_first=norm == "pre")
    with torch.no_grad():
        copy_attention(ours.self_attention, theirs.self_attn)
        copy_feed_forward(ours.feed_forward, theirs)
        theirs.norm1.load_state_dict(ours.self_residual.norm.state_dict())
        theirs.norm2.load_state_dict(ours.ffn_residual.norm.state_dict())
    x, real = torch.randn(B, S, D), torch.tensor([[1, 1, 0, 0, 0], [1] * 5, [1, 1, 1, 1, 0]], dtype=torch.bool)
    expected = theirs(x, src_key_padding_mask=~real)
    assert torch.allclose(ours(x, key_mask(real))[real], expected[real], atol=1e-5)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_decoder_layer_is_torchs_own(norm: str, activation: str) -> None:
    torch.manual_seed(1)
    ours = stirred(DecoderLayer(shape(norm, activation), D))
    theirs = nn.TransformerDecoderLayer(D, H, F, 0.0, activation, batch_first=True, norm_first=norm == "pre")
    with torch.no_grad():
        copy_attention(ours.self_attention, theirs.self_attn)
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        copy_feed_forward(ours.feed_forward, theirs)
        theirs.norm1.load_state_dict(ours.self_residual.norm.state_dict())
        theirs.norm2.load_state_dict(ours.cross_residual.norm.state_dict())
        theirs.norm3.load_state_dict(ours.ffn_residual.norm.state_dict())
    x, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    real = torch.tensor([[1, 1, 0, 0, 0], [1] * 5, [1, 1, 1, 1, 0]], dtype=torch.bool)
    expected = theirs(x, memory, tgt_mask=~causal_mask(T, T), memory_key_padding_mask=~real)
    source = SourceKeys(*ours.cross_attention.prepare(memory), key_mask(real))
    states, _ = ours(x, ours.start(B), source)
    assert torch.allclose(states, expected, atol=1e-5)


TWINS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


@pytest.mark.parametrize("kind", TWINS)
@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_a_recurrent_encoder_is_torchs_own(kind: str, direction: str) -> None:
    """Depth 2 over a packed batch; backwards alone is the backward half of a layer that reads both ways."""
    torch.manual_seed(2)
    depth, lengths = 2, torch.tensor([3, 6, 1])
    both = direction == "both"
    encoder = stirred(RecurrentEncoder(Embedding(9, 6, 0.0), kind, direction, 8, depth, 0.0))
    theirs = TWINS[kind](6, 4 if both else 8, depth, batch_first=True, bidirectional=both)
    with torch.no_grad():
        for index, layer in enumerate(encoder.layers):
            cells = {"": layer.forwards if direction != "backward" else layer.backwards}
            if both:
                cells["_reverse"] = layer.backwards
            for suffix, cell in cells.items():
                for ours, name in ((cell.input_proj, "ih"), (cell.state_proj, "hh")):
                    getattr(theirs, f"weight_{name}_l{index}{suffix}").copy_(ours.weight)
                    getattr(theirs, f"bias_{name}_l{index}{suffix}").copy_(ours.bias)
    mask = torch.arange(6)[None] < lengths[:, None]
    source = torch.randint(0, 9, (3, 6))
    memory = encoder(source, mask)
    inputs = encoder.embedding(source)
    if direction == "backward":
        inputs = reversed_rows(inputs, lengths)
    packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    outputs, ends = theirs(packed)
    expected, _ = pad_packed_sequence(outputs, batch_first=True)
    if direction == "backward":
        expected = reversed_rows(expected, lengths)
    assert torch.allclose(memory.states[mask], expected[mask], atol=1e-5)
    hidden = ends[0] if kind == "lstm" else ends  # (layers · directions, B, W)
    last = torch.cat((hidden[-2], hidden[-1]), -1) if both else hidden[-1]
    assert torch.allclose(memory.summary, last, atol=1e-5)


def reversed_rows(values: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    result = values.clone()
    for row, length in enumerate(lengths.tolist()):
        result[row, :length] = values[row, :length].flip(0)
    return result
