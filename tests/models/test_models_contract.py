"""What every preset keeps: steps equal the whole, padding and the future never matter, rows can be selected."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.config import PRESETS
from regard.models.seq2seq import Model

TEXTS = [name for name in PRESETS if not name.startswith("image-")]  # images: test_models_vision.py
ALONE = [name for name in TEXTS if PRESETS[name].fields.get("decoder") != "none"]
WRITERS = [*ALONE, "ensemble"]
TIGHT = {"atol": 2e-5, "rtol": 1e-4}


def in_pieces(model: Model, source: Tensor, mask: Tensor, target: Tensor, sizes: list[int]) -> Tensor:
    memory = model.encode(source, mask)
    state, logits = model.start(memory), []
    for piece in target.split(sizes, dim=1):
        out, state = model.step(piece, memory, state)
        logits.append(out)
    return torch.cat(logits, dim=1)


@pytest.mark.parametrize("preset", WRITERS)
@pytest.mark.parametrize("sizes", [[1, 1, 1, 1, 1], [2, 3], [3, 1, 1]])
@pytest.mark.parametrize("fused", [True, False])
def test_step_by_step_equals_all_at_once(tiny, rows, preset: str, sizes: list[int], fused: bool) -> None:
    model = tiny(preset, depth=2, fused=fused)
    whole = model(rows.source, rows.mask, rows.target)
    assert whole.shape == (4, 5, 11) and whole.isfinite().all()
    assert torch.allclose(in_pieces(model, rows.source, rows.mask, rows.target, sizes), whole, **TIGHT)


@pytest.mark.parametrize("preset", WRITERS)
def test_a_step_leaves_the_state_it_was_given_alone(tiny, rows, preset: str) -> None:
    """Two continuations of one state: the first leaves no trace in the second, or beams would mix."""
    model = tiny(preset)
    memory = model.encode(rows.source, rows.mask)
    _, state = model.step(rows.target[:, :2], memory, model.start(memory))
    expected, _ = model.step(rows.target[:, 2:], memory, state)
    model.step(rows.target[:, :3], memory, state)
    again, _ = model.step(rows.target[:, 2:], memory, state)
    assert torch.equal(again, expected)


@pytest.mark.parametrize("preset", TEXTS)
def test_padding_never_matters(tiny, rows, preset: str) -> None:
    model = tiny(preset)
    whole = model(rows.source, rows.mask, rows.target)
    others = torch.where(rows.mask, rows.source, torch.randint(1, 9, rows.source.shape))
    assert torch.allclose(model(others, rows.mask, rows.target), whole, **TIGHT)
    more = torch.cat((rows.source, torch.full((4, 3), 5)), 1)
    more_mask = torch.cat((rows.mask, torch.zeros(4, 3, dtype=torch.bool)), 1)
    assert torch.allclose(model(more, more_mask, rows.target), whole, **TIGHT)
    for row, length in enumerate(rows.lengths):
        source, mask = rows.source[row : row + 1, :length], rows.mask[row : row + 1, :length]
        assert torch.allclose(model(source, mask, rows.target[row : row + 1])[0], whole[row], **TIGHT)


@pytest.mark.parametrize("preset", TEXTS)
def test_every_source_token_matters(tiny, rows, preset: str) -> None:
    """The counterpart of padding: each real token moves the logits of its own row, and of no other row."""
    model = tiny(preset)
    whole = model(rows.source, rows.mask, rows.target)
    for column in range(5):
        changed = rows.source.clone()
        changed[0, column] = 3 + (changed[0, column] - 2) % 6
        logits = model(changed, rows.mask, rows.target)
        assert (logits[0] - whole[0]).abs().max() > 1e-4
        assert torch.allclose(logits[1:], whole[1:], **TIGHT)


@pytest.mark.parametrize("preset", WRITERS)
def test_the_future_never_matters(tiny, rows, preset: str) -> None:
    model = tiny(preset, depth=2)
    whole = model(rows.source, rows.mask, rows.target)
    for column in range(1, 5):
        changed = rows.target.clone()
        changed[:, column:] = 1 + changed[:, column:] % 10
        logits = model(rows.source, rows.mask, changed)
        assert torch.allclose(logits[:, :column], whole[:, :column], **TIGHT)
        assert (logits[:, column] - whole[:, column]).abs().amax(-1).gt(1e-4).all()


@pytest.mark.parametrize("preset", ALONE)
def test_no_gradient_flows_from_the_past_to_the_future(tiny, rows, preset: str) -> None:
    """d logits[t] / d embedding of a token that first appears after t is zero, exactly."""
    model = tiny(preset, tied_embeddings=False)
    target = torch.tensor([[1, 3, 4, 5, 6]])
    table = model.decoder.embedding.weight
    for t in range(5):
        logits = model(torch.full((1, 3), 8), torch.ones(1, 3, dtype=torch.bool), target)
        (gradient,) = torch.autograd.grad(logits[0, t].square().sum(), table)
        reached = gradient[target[0]].abs().sum(-1).gt(0)
        unseen = int(preset == "marian")  # it starts from a zero vector, whatever the table holds
        assert reached.tolist() == [unseen <= column <= t for column in range(5)]


@pytest.mark.parametrize("preset", TEXTS)
def test_select_takes_rows_of_memory_and_state(tiny, rows, preset: str) -> None:
    model = tiny(preset, depth=2)
    memory = model.encode(rows.source, rows.mask)
    _, state = model.step(rows.target[:, :2], memory, model.start(memory))
    expected, _ = model.step(rows.target[:, 2:], memory, state)
    order = torch.tensor([2, 0, 3, 3, 1, 0])
    chosen, kept = memory.select(order), state.select(order)
    selected, after = model.step(rows.target[order, 2:], chosen, kept)
    assert torch.allclose(selected, expected[order], **TIGHT)
    assert torch.equal(chosen.mask, memory.mask[order])
    assert not torch.allclose(selected[0], selected[1], atol=1e-4)
    again, _ = model.step(rows.target[:1, :1], chosen.select(torch.tensor([4])), after.select(torch.tensor([4])))
    assert again.shape == (1, 1, 11)


@pytest.mark.parametrize("preset", TEXTS)
def test_the_same_seed_gives_the_same_weights(tiny, preset: str) -> None:
    torch.manual_seed(100)
    one = tiny(preset, seed=1, fresh=True).state_dict()
    expected = torch.random.get_rng_state()
    torch.rand(7)
    two, other = (tiny(preset, seed=seed, fresh=True).state_dict() for seed in (1, 2))
    torch.manual_seed(100)
    assert torch.equal(torch.random.get_rng_state(), expected)  # building draws from nobody else's stream
    assert one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)
    drawn = [name for name, value in one.items() if value.dim() > 1]
    assert drawn and not any(torch.equal(one[name], other[name]) for name in drawn)


@pytest.mark.parametrize("preset", TEXTS)
def test_every_parameter_gets_a_gradient(tiny, rows, preset: str) -> None:
    model = tiny(preset, depth=2, dropout=0.1, attention_dropout=0.1).train()
    torch.manual_seed(0)
    logits = model(rows.source, rows.mask, rows.target)
    logits.log_softmax(-1)[..., 1].mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


def test_dropout_inside_the_feed_forward_layer_is_its_own(tiny, rows) -> None:
    def spread(**fields: float) -> float:
        """How far two passes in training are from each other."""
        model = tiny("transformer", depth=1, **fields).train()
        one, two = (model(rows.source, rows.mask, rows.target) for _ in range(2))
        return (one - two).abs().max().item()

    assert spread(dropout=0.0, ffn_dropout=0.5) > 0
    assert spread(dropout=0.0) == 0  # as dropout
    inner = [tiny("transformer", dropout=0.25, **given).encoder.layers[0].feed_forward.dropout.p
             for given in ({}, {"ffn_dropout": 0.0}, {"ffn_dropout": 0.5})]  # fmt: skip
    assert inner == [0.25, 0.0, 0.5]
