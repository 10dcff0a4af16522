"""The engine in JavaScript computes what torch computes: logits of every family, tokens of every kind of tokenizer."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import SIZES, SOURCE_SIZE, TARGET_SIZE

from regard.checkpoint import load_run
from regard.config import plan_model, settle
from regard.data.tokenizer import Tokenizer
from regard.interop.browser_model import (
    browser_model,
    model_facts,
    packed_weights,
    rounded_rows,
    unsuited,
    vocabulary_facts,
)

GENERATING: list[tuple[str, dict[str, Any]]] = [
    ("rnn-language", {}),
    ("rnn-language", {"cell": "gru", "depth": 2, "first_state": "learned"}),
    ("rnn-fixed", {"depth": 2}),
    ("rnn-fixed-every-step", {"first_state": "learned"}),
    ("lstm-fixed", {"direction": "backward"}),
    ("gru-fixed", {"tied_embeddings": True}),
    ("lstm-additive", {"depth": 2, "query": "state-and-token", "decoder_width": 10}),
    ("lstm-dot", {"weighting": "proportional"}),
    ("lstm-scaled-dot", {"first_state": "learned"}),
    ("lstm-bilinear", {"encoder_width": 8}),
    ("lstm-projected", {}),
    ("lstm-cosine", {}),
    ("lstm-multihead", {"head_layout": "full"}),
    ("attention-rnn", {}),
    ("convolution", {"depth": 2, "kernel": 4, "norm": "post"}),
    ("convolution", {"depth": 2, "norm": "pre", "positions": "sinusoidal"}),
    ("transformer", {"positions": "sinusoidal", "depth": 2}),
    ("transformer", {"positions": "rotary", "norm": "post", "activation": "gelu"}),
    ("transformer", {"positions": "alibi", "norm": "none", "activation": "tanh", "head_layout": "full"}),
    ("transformer", {"positions": "learned", "position_combine": "multiply", "residuals": False, "depth": 1}),
    ("transformer", {"positions": "sinusoidal", "position_combine": "concatenate", "projections": "none"}),
    ("transformer", {"encoder_width": 6, "encoder_depth": 0, "depth": 1, "positions": "none"}),
    ("transformer-language", {"depth": 2, "positions": "rotary"}),
    ("transformer-language", {"depth": 1, "positions": "learned"}),
    ("image-fixed", {}),
    ("image-lstm", {}),
    ("image-grid-transformer", {}),
    ("image-transformer", {"depth": 1}),
    ("image-transformer", {"depth": 1, "stem": "linear"}),
]
TEXTS = [
    *(
        "the old cat sees",
        "naïve 42.",
        "日本 (so) カー ひら",
        "Ж unseen",
        "</s> <pad> <0x41>",
        "",
        " ",
        "I'm  here's\n\tok ",
    ),
    *(
        "a\u00a0b\u0085c\ufeffd\u2028e",
        "한국어 각",
        "e\u0301 é ﬁ Å",
        "👩‍👩‍👧 x",
        "V;PST;3;SG+x|y",
        "٣٤ ½ ² Ⅳ",
        "\u1112\u1161\u11ab",
    ),
]


def test_every_family_gives_torchs_logits(tiny: Callable[..., Any], engine) -> None:
    jobs, expected = [], []
    generator = torch.Generator().manual_seed(4)
    for preset, fields in GENERATING:
        image = preset.startswith("image")
        sizes = {**SIZES, **({"image_size": 16} if image else {}), **fields}
        model = tiny(preset, **sizes)
        plan = plan_model(settle({"model": {"preset": preset, **sizes}}).model)
        length = 5
        target = torch.randint(1, TARGET_SIZE, (1, 4), generator=generator)
        if image:
            pixels = torch.randint(0, 256, (1, 3 * 16 * 16), generator=generator)
            source = torch.cat((torch.tensor([[2]]), pixels), dim=1).to(torch.uint8)
            mask, given = torch.ones(1, 1, dtype=torch.bool), {"word": 2, "pixels": pixels[0].tolist()}
        else:
            source = torch.randint(3, SOURCE_SIZE, (1, length), generator=generator)
            mask, given = torch.ones(1, length, dtype=torch.bool), source[0].tolist()
        index, weights = packed_weights(model, "float32")
        job = {"kind": "logits", "config": model_facts(plan), "index": index, "weights": weights}
        jobs.append({**job, "source": given, "target": target[0].tolist()})
        with torch.no_grad():
            expected.append(model(source, mask, target)[0].numpy())
    for (preset, fields), answer, logits in zip(GENERATING, engine(jobs), expected, strict=True):
        for way in ("together", "steps"):
            bound = 1e-4 * max(1, np.abs(logits).max() / 10)  # float32 has seven digits
            np.testing.assert_allclose(answer[way], logits, atol=bound, err_msg=f"{preset} {fields} {way}")


def test_a_pointer_copies(tiny: Callable[..., Any], engine) -> None:
    fields = {"positions": "sinusoidal", "depth": 1, "pointer": True}
    model = tiny("transformer", shared=True, **fields)
    plan = plan_model(settle({"model": {"preset": "transformer", **SIZES, **fields}}).model)
    source, target = torch.tensor([[5, 3, 5, 2]]), torch.tensor([[1, 5, 4]])
    index, weights = packed_weights(model, "float32")
    job = {"kind": "logits", "config": model_facts(plan), "index": index, "weights": weights}
    (answer,) = engine([{**job, "source": source[0].tolist(), "target": target[0].tolist()}])
    with torch.no_grad():
        logits = model(source, torch.ones(1, 4, dtype=torch.bool), target)[0].numpy()
    np.testing.assert_allclose(answer["steps"], logits, atol=1e-4)


@pytest.mark.parametrize("kind", ["character", "decomposed", "symbol", "word", "bpe", "unigram"])
def test_every_tokenizer_gives_the_same_pieces(kind: Any, engine) -> None:
    texts = ["the old cat sees a bird, it's 42!", "naïve über 日本 カ한국", "V;PST;3;SG a b c"] * 9
    tokenizer = Tokenizer.train(texts, kind, 330)
    letters = random.Random(3)
    hostile = ["".join(letters.choice("aeé the's 42日カ한\t\n .;|é🙂ß\u00a0") for _ in range(30)) for _ in range(60)]
    lines = [*texts[:3], *TEXTS, *hostile]
    rows = [[letters.randrange(3, tokenizer.size) for _ in range(12)] for _ in range(40)]
    facts = vocabulary_facts(tokenizer)
    encoded, decoded = engine(
        [
            {"kind": "tokens", "vocabulary": facts, "texts": lines},
            {"kind": "decoded", "vocabulary": facts, "rows": rows},
        ]
    )
    for text, answer in zip(lines, encoded, strict=True):
        ids = tokenizer.encode(text)
        assert answer == {"ids": ids, "tokens": tokenizer.tokens(ids), "text": tokenizer.decode(ids)}, text
    assert decoded == [tokenizer.decode(row) for row in rows]


def test_rounding_keeps_a_row_within_half_a_step() -> None:
    values = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
    values[2] = 0
    data = rounded_rows(values)
    scales, integers = np.frombuffer(data[:20], "<f4"), np.frombuffer(data[20:], np.int8).reshape(5, 7)
    assert np.all(np.abs(scales[:, None] * integers - values) <= scales[:, None] / 2 + 1e-7)
    assert np.abs(integers[[0, 1, 3, 4]]).max(1).tolist() == [127] * 4 and not integers[2].any()


def test_a_tied_table_is_written_once(tiny: Callable[..., Any]) -> None:
    model = tiny("transformer", shared=True, positions="sinusoidal")
    index, weights = packed_weights(model, "int8")
    assert index["encoder.embedding.weight"] == index["decoder.output.weight"]
    assert len(weights) < sum(parameter.numel() for parameter in model.parameters()) * 1.6


def test_what_the_page_cannot_run_is_named(classifier_run) -> None:
    run = load_run(classifier_run)
    assert "classification" in (unsuited(run) or "")


def test_the_facts_name_every_attention(make_run) -> None:
    run = load_run(make_run())
    facts = browser_model(run, "int8").facts
    assert unsuited(run) is None
    assert facts["attentions"][-1] == "decoder.layers.1.cross_attention" and facts["source"] is None
