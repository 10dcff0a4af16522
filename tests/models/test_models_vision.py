"""Encoders of images keep the contract: any decoder writes from their memory, step by step as all at once."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.analysis.describe import blueprint, describe, render
from regard.config import SearchSettings, plan_model, settle
from regard.data.sources import EncodedImage
from regard.errors import UserError
from regard.inference import decode
from regard.inference.incremental.cached_model import incremental
from regard.inference.incremental.transformer import IncrementalTransformer
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.models.seq2seq import Model
from regard.nn.taps import watching

PRESETS = ["image-fixed", "image-lstm", "image-grid-transformer", "image-transformer"]
SIDE, WORDS, SIZE = 24, 3, 11  # 9 cells; two words, or none
DECODERS = [{"decoder": "rnn", "context": c} for c in ("first-state", "every-step", "attention")]
DECODERS += [{"decoder": "transformer"}, {"decoder": "convolution"}]


def small(fields: dict, words: int = WORDS, seed: int = 3) -> Model:
    sizes = {"width": 12, "heads": 3, "ffn_width": 14, "image_size": SIDE, "depth": 2}
    return fuse(build_model(plan_model(settle({"model": {**sizes, **fields}}).model), words, SIZE, False, seed)).eval()


@pytest.fixture(scope="module")
def source() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (4, 1 + 3 * SIDE * SIDE), generator=generator).to(torch.uint8)
    pixels[:, 0] = torch.tensor([1, 2, 1, 0])
    return pixels


MASK = torch.ones(4, 1, dtype=torch.bool)
TARGET = torch.randint(1, SIZE, (4, 5), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("encoder", "decoder"), list(itertools.product(("grid", "patches"), DECODERS)))
def test_any_decoder_steps_as_it_is_taught(source: Tensor, encoder: str, decoder: dict) -> None:
    model = small({"encoder": encoder, **decoder})
    whole = model(source, MASK, TARGET)
    assert whole.shape == (4, 5, SIZE)
    memory = model.encode(source, MASK)
    assert memory.states.shape == (4, 9, 12) and memory.mask.shape == (4, 9) and memory.mask.all()
    assert torch.allclose(memory.summary, memory.states.mean(1), atol=1e-6)
    state = model.start(memory)
    for t in range(5):
        logits, state = model.step(TARGET[:, t : t + 1], memory, state)
        assert torch.allclose(logits[:, 0], whole[:, t], atol=2e-5, rtol=1e-4)
    whole.log_softmax(-1)[..., 1].mean().backward()
    for path, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.ne(0).any(), path


@pytest.mark.parametrize("preset", PRESETS)
def test_rows_do_not_touch_each_other(source: Tensor, preset: str) -> None:
    model = small({"preset": preset})
    whole = model(source, MASK, TARGET)
    alone = torch.cat([model(source[i : i + 1], MASK[:1], TARGET[i : i + 1]) for i in range(4)])
    assert torch.allclose(alone, whole, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_cell_and_the_word_matter(source: Tensor, preset: str) -> None:
    model = small({"preset": preset})
    whole = model(source, MASK, TARGET)
    pixels = source[:, 1:].view(4, SIDE, SIDE, 3)
    for row, column in itertools.product(range(3), repeat=2):
        changed = source.clone()
        changed[0, 1:].view(SIDE, SIDE, 3)[8 * row : 8 * row + 8, 8 * column : 8 * column + 8] = 255
        logits = model(changed, MASK, TARGET)
        assert (logits[0] - whole[0]).abs().max() > 1e-5 and torch.allclose(logits[1:], whole[1:], atol=1e-5)
    other = source.clone()
    other[0, 0] = 2
    assert (model(other, MASK, TARGET)[0] - whole[0]).abs().max() > 1e-5
    turned = torch.cat((source[:, :1], pixels.flip(2).flatten(1)), 1)
    assert not torch.allclose(model(turned, MASK, TARGET), whole, atol=1e-4)  # left and right are told apart


def test_without_words_there_is_no_table() -> None:
    assert small({"preset": "image-lstm"}, words=1).encoder.canvas.words is None


def test_patches_start_from_positions_of_rows_and_columns(source: Tensor) -> None:
    positions = small({"preset": "image-transformer"}).encoder.canvas.positions.view(3, 3, 12)
    assert torch.allclose(positions[:, :, :6], positions[:, :1, :6].expand(-1, 3, -1)), "one vector for a row"
    assert torch.allclose(positions[:, :, 6:], positions[:1, :, 6:].expand(3, -1, -1)), "and one for a column"
    assert positions.flatten(0, 1).unique(dim=0).shape[0] == 9
    for stem in ("linear", "convolution"):
        model = small({"preset": "image-transformer", "stem": stem})
        assert model.encode(source, MASK).states.shape == (4, 9, 12)


@pytest.mark.parametrize("preset", PRESETS)
def test_images_are_searched_like_sentences(preset: str) -> None:
    model = small({"preset": preset}, words=1)
    generator = np.random.default_rng(0)
    images = [EncodedImage(generator.integers(0, 255, (SIDE, SIDE, 3), dtype=np.uint8)) for _ in range(3)]
    for search in ({"beams": 1}, {"beams": 3, "n_best": 2}, {"sample": True, "n_best": 2}):
        config = SearchSettings(max_tokens=6, **search)
        together = decode(model, images, config)
        apart = [decode(model, [image], config)[0] for image in images]
        assert [[one.tokens for one in found] for found in together] == [[o.tokens for o in found] for found in apart]


@pytest.mark.parametrize("preset", PRESETS)
@torch.inference_mode()
def test_incremental_decoding_gives_the_same_logits(source: Tensor, preset: str) -> None:
    model = small({"preset": preset})
    fast = incremental(model)
    assert isinstance(fast, IncrementalTransformer) == preset.endswith("transformer")
    assert torch.allclose(fast(source, MASK, TARGET), model(source, MASK, TARGET), atol=2e-5, rtol=1e-4)


def test_attention_looks_at_cells(source: Tensor) -> None:
    model = small({"preset": "image-lstm"})
    with watching(model) as watch:
        opened = model(source, MASK, TARGET)
    weights = watch.tensors()["decoder.attention.weights"]
    assert weights.shape == (4, 1, 5, 9) and torch.allclose(weights.sum(-1), torch.ones(4, 1, 5), atol=1e-5)
    assert torch.allclose(opened, model(source, MASK, TARGET), atol=1e-5)
    assert watch.tensors()["encoder.states"].shape == (4, 9, 12)


@pytest.mark.parametrize("preset", PRESETS)
def test_augmentation_acts_in_training_only_and_follows_the_seed(source: Tensor, preset: str) -> None:
    plain, model = small({"preset": preset}), small({"preset": preset, "augment": 0.2})
    assert torch.equal(model(source, MASK, TARGET), plain(source, MASK, TARGET))
    model.train()
    logits = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        logits.append(model(source, MASK, TARGET))
    assert torch.equal(logits[0], logits[1]) and not torch.allclose(logits[0], logits[2], atol=1e-4)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_batch_of_images_is_learnt_by_heart(source: Tensor, preset: str) -> None:
    model = small({"preset": preset, "width": 24, "heads": 2}).train()
    adam = torch.optim.Adam(model.parameters(), lr=5e-3)
    inputs = torch.cat((torch.ones(4, 1, dtype=torch.long), TARGET[:, :-1]), 1)
    for _ in range(80):
        loss = torch.nn.functional.cross_entropy(model(source, MASK, inputs).flatten(0, 1), TARGET.flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert (model.eval()(source, MASK, inputs).argmax(-1) == TARGET).all()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"preset": "image-lstm", "image_size": 60}, "model.image_size = 60 is no multiple of 8"),
        ({"preset": "image-lstm", "width": 30}, "encoder_width = 30 cannot be halved twice"),
        ({"preset": "image-transformer", "width": 30, "heads": 4}, "model.encoder_width = 30 cannot be halved"),
        ({"preset": "image-transformer", "width": 20, "heads": 3}, "model.heads = 3 does not divide the encoder's"),
    ],
)
def test_what_does_not_fit_is_refused(fields: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        settle({"model": fields})


def test_the_cost_of_a_cell_by_hand() -> None:
    """One head, width 8, patches of 8 × 8 × 3: the projection, a layer, and the keys and values of the decoder."""
    fields = {"preset": "image-transformer", "width": 8, "heads": 1, "depth": 1, "ffn_width": 10, "stem": "linear"}
    described = describe(blueprint(plan_model(settle({"model": fields}).model), 1, 7, False), "", "")
    assert described.source_token.fixed == 192 * 8 + 4 * 64 + 2 * 80 + 2 * 64
    assert "a cell of the image costs" in render(described)
    fields["stem"] = "convolution"  # 16, 4 and 1 places to a cell, kernels of 4 × 4
    stem = describe(blueprint(plan_model(settle({"model": fields}).model), 1, 7, False), "", "").source_token.fixed
    assert stem - described.source_token.fixed == 16 * 16 * 3 * 2 + 4 * 16 * 2 * 4 + 16 * 4 * 8 - 192 * 8
    fields = {"preset": "image-fixed", "width": 8, "depth": 1}
    grid = describe(blueprint(plan_model(settle({"model": fields}).model), 1, 7, False), "", "").source_token.fixed
    stem = 16 * (16 * 3 * 2) + 4 * (16 * 2 * 4)  # 16 and 4 places to a cell
    near, wide = 4 * 2 * (9 * 4 * 4), 16 * 4 * 8 + 9 * 8 * 8 + 4 * 8
    assert grid == stem + near + wide + 2 * 9 * 8 * 8
