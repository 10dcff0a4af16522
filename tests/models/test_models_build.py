"""What the fields of a model do to it: widths, depths, heads, norms, ties, positions, limits, first weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.config import PRESETS
from regard.nn.attention import MultiHeadAttention
from regard.nn.recurrent import LSTMCell

TEXTS = [name for name in PRESETS if not name.startswith("image-")]  # images: test_models_vision.py


def size(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("preset", [p for p in TEXTS if PRESETS[p].fields["decoder"] != "none"])
def test_tied_embeddings(tiny, preset: str) -> None:
    tied, untied = tiny(preset, tied_embeddings=True), tiny(preset, tied_embeddings=False)
    assert tied.decoder.output.weight is tied.decoder.embedding.weight
    assert untied.decoder.output.weight is not untied.decoder.embedding.weight
    assert size(untied) - size(tied) == 11 * 12


@pytest.mark.parametrize("preset", ["transformer", "convolution", "lstm-additive"])
def test_one_table_where_the_vocabulary_is_shared_and_tied(tiny, rows, preset: str) -> None:
    one = tiny(preset, shared=True, tied_embeddings=True)
    assert one.encoder.embedding.weight is one.decoder.embedding.weight is one.decoder.output.weight
    two = tiny(preset, shared=True, tied_embeddings=False)
    assert len({id(m.weight) for m in (two.encoder.embedding, two.decoder.embedding, two.decoder.output)}) == 3
    apart = tiny(preset, shared=False, tied_embeddings=True)
    assert apart.encoder.embedding.weight.shape == (9, 12) and apart.decoder.embedding.weight.shape == (11, 12)
    wide = tiny(preset, shared=True, tied_embeddings=True, encoder_width=24)
    assert wide.encoder.embedding.weight.shape == (11, 24) and wide.decoder.embedding.weight.shape == (11, 12)
    assert wide(rows.source, rows.mask, rows.target).shape == (4, 5, 11)


@pytest.mark.parametrize("preset", ["transformer", "convolution", "lstm-additive", "attention-rnn", "gru-fixed"])
def test_a_deep_encoder_with_a_shallow_decoder(tiny, rows, preset: str) -> None:
    model = tiny(preset, encoder_depth=3, decoder_depth=1)
    decoder = model.decoder
    assert len(model.encoder.layers) == 3
    assert len((decoder.stack if hasattr(decoder, "stack") else decoder).layers) == 1
    assert model(rows.source, rows.mask, rows.target).isfinite().all()


@pytest.mark.parametrize("layout", ["split", "full"])
@pytest.mark.parametrize("preset", ["transformer", "transformer-language", "convolution", "lstm-multihead"])
def test_head_layouts(tiny, rows, preset: str, layout: str) -> None:
    model = tiny(preset, head_layout=layout)
    inner = 12 if layout == "split" else 3 * 12
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    assert attentions
    for attention in attentions:
        for projection in (attention.query_proj, attention.key_proj, attention.value_proj):
            assert projection.weight.shape == (inner, 12)
        assert attention.output_proj.weight.shape == (12, inner)
    assert model(rows.source, rows.mask, rows.target).shape == (4, 5, 11)


@pytest.mark.parametrize("length", [1, 5, 30])
def test_queries_keys_and_values_of_width_10_hold_300_parameters_whatever_the_length(tiny, length: int) -> None:
    model = tiny("transformer", width=10, heads=1, depth=1)
    source = torch.full((1, length), 4)
    model(source, torch.ones_like(source, dtype=torch.bool), source)
    attention = model.encoder.layers[0].self_attention
    assert sum(size(p) for p in (attention.query_proj, attention.key_proj, attention.value_proj)) == 300


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
@pytest.mark.parametrize("preset", ["transformer", "convolution", "transformer-language"])
def test_norm_kinds(tiny, rows, preset: str, norm: str) -> None:
    model = tiny(preset, norm=norm, depth=2)
    norms = [module for module in model.modules() if isinstance(module, nn.LayerNorm)]
    sublayers = {"transformer": 2 * 2 + 2 * 3, "convolution": 2 * 1 + 2 * 2, "transformer-language": 2 * 2}[preset]
    last = {"transformer": 2, "convolution": 2, "transformer-language": 1}[preset]
    assert len(norms) == {"pre": sublayers + last, "post": sublayers, "none": 0}[norm]
    states = model.encode(rows.source, rows.mask).states
    assert states.isfinite().all() and model(rows.source, rows.mask, rows.target).isfinite().all()


@pytest.mark.parametrize("combine", ["add", "multiply", "concatenate"])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
@pytest.mark.parametrize("preset", ["transformer", "convolution", "transformer-classifier"])
def test_positions_and_how_they_join(tiny, rows, preset: str, positions: str, combine: str) -> None:
    model = tiny(preset, positions=positions, position_combine=combine)
    assert moves_when_permuted(model, rows)


@pytest.mark.parametrize("positions", ["rotary", "alibi"])
def test_positions_inside_attention(tiny, rows, positions: str) -> None:
    model = tiny("transformer", positions=positions)
    assert moves_when_permuted(model, rows)
    cross = [m for name, m in model.named_modules() if name.endswith("cross_attention")]
    own = [m for name, m in model.named_modules() if name.endswith("self_attention")]
    assert all(m.positions is None for m in cross) and all(m.positions == positions for m in own)


def moves_when_permuted(model: nn.Module, rows) -> bool:
    order = torch.tensor([3, 0, 6, 2, 5, 1, 4])
    row, mask = torch.tensor([[3, 4, 5, 6, 7, 8, 3]]), rows.mask[1:2]
    states, permuted = model.encode(row, mask).states, model.encode(row[:, order], mask).states
    return not torch.allclose(permuted, states[:, order], atol=1e-3)


@pytest.mark.parametrize(("preset", "fields"), [("attention-rnn", {}), ("transformer", {"positions": "none"})])
def test_attention_without_positions_is_permutation_equivariant(tiny, rows, preset: str, fields: dict) -> None:
    model = tiny(preset, encoder_depth=2, **fields)
    assert not moves_when_permuted(model, rows)
    order = torch.tensor([4, 2, 0, 1, 3])
    source, mask = rows.source[:1, :5], rows.mask[:1, :5]
    assert torch.allclose(
        model.encode(source[:, order], mask).states, model.encode(source, mask).states[:, order], atol=1e-5
    )
    target = rows.target[:1]  # and so the decoder cannot tell the orders apart
    assert torch.allclose(model(source[:, order], mask, target), model(source, mask, target), atol=1e-5)


@pytest.mark.parametrize("preset", ["lstm-additive", "gru-fixed", "convolution", "transformer"])
def test_the_others_know_the_order(tiny, rows, preset: str) -> None:
    assert moves_when_permuted(tiny(preset), rows)


@pytest.mark.parametrize("kind", ["convolution", "transformer"])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_limits_are_the_tables_rows_on_the_sides_that_have_one(tiny, kind: str, positions: str) -> None:
    limit = 40 if positions == "learned" else None
    model = tiny(None, encoder=kind, decoder="rnn", positions=positions)
    assert (model.max_source, model.max_target) == (limit, None)
    model = tiny(None, encoder="rnn", decoder=kind, positions=positions)
    assert (model.max_source, model.max_target) == (None, limit)
    model = tiny(None, encoder=kind, decoder="none", positions=positions)
    assert model.max_source == limit


@pytest.mark.parametrize(("positions", "limit"), [("learned", 40), ("sinusoidal", None)])
def test_a_language_model_has_one_limit_for_both_sides(tiny, positions: str, limit: int | None) -> None:
    model = tiny("transformer-language", positions=positions)
    assert (model.max_source, model.max_target, model.max_total) == (None, None, limit)


@pytest.mark.parametrize("preset", TEXTS)
def test_a_source_and_target_of_the_longest_lengths_run(tiny, preset: str) -> None:
    model = tiny(preset, positions="learned" if "rnn" not in preset and "lstm" not in preset else "none")
    longest = (model.max_source or 45, model.max_target or 45)
    if model.max_total is not None:
        longest = (model.max_total - 7, 7)
    source, target = (torch.full((1, length), 4) for length in longest)
    assert model(source, torch.ones_like(source, dtype=torch.bool), target).isfinite().all()


def test_first_weights(tiny) -> None:
    model = tiny("lstm-additive", fresh=True, width=16)
    cells = [module for module in model.modules() if isinstance(module, LSTMCell)]
    assert len(cells) == 3  # two directions and the decoder
    for cell in cells:
        for gate in cell.state_proj.weight.split(cell.width):
            assert torch.allclose(gate @ gate.T, torch.eye(cell.width), atol=1e-5)
        forget = slice(cell.width, 2 * cell.width)
        assert cell.input_proj.bias[forget].eq(1).all() and cell.input_proj.bias.sum() == cell.width
    linear = tiny("transformer", fresh=True, width=60).decoder.layers[0].feed_forward.inner_proj
    assert linear.bias.eq(0).all()
    assert linear.weight.abs().max().item() == pytest.approx((6 / (60 + 14)) ** 0.5, rel=0.05)


@pytest.mark.parametrize("preset", TEXTS)
def test_fresh_logits_are_neither_flat_nor_peaked(tiny, rows, preset: str) -> None:
    model = tiny(preset, fresh=True, width=48)
    logits = model(rows.source, rows.mask, rows.target)
    assert 0.02 < logits.std().item() < 3


@pytest.mark.parametrize("preset", TEXTS)
def test_dropout_acts_in_training_only(tiny, rows, preset: str) -> None:
    model = tiny(preset, dropout=0.3)
    plain = tiny(preset)
    assert torch.equal(model(rows.source, rows.mask, rows.target), plain(rows.source, rows.mask, rows.target))
    model.train()
    one, two = (model(rows.source, rows.mask, rows.target) for _ in range(2))
    assert not torch.allclose(one, two, atol=1e-3)
