"""transformers alone, from the folder, gives our logits and our outputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from regard import load
from regard.errors import UserError
from regard.interop import export_run

TEXTS = ["the old cat sees", "a blue bird über", "naïve 42.", "日本 (so)", "Ж unseen", "[a] {b"]


@pytest.mark.parametrize(
    ("model", "tokenizer", "name"),
    [
        ({}, {}, "PegasusForConditionalGeneration"),
        (
            {"positions": "learned", "max_positions": 60, "activation": "gelu"},
            {"kind": "unigram"},
            "PegasusForConditionalGeneration",
        ),
        ({"norm": "post", "attention_bias": True, "start": "zero"}, {"kind": "character"}, "MarianMTModel"),
    ],
    ids=["pre-norm", "learned positions", "post-norm"],
)
def test_greedy_outputs_are_ours(model, tokenizer, name, make_run: Callable[..., Path], tmp_path: Path) -> None:
    hub = pytest.importorskip("transformers", reason="transformers is not installed")
    run = make_run(model, tokenizer)
    done = export_run(run, "transformers", tmp_path / "folder")
    assert done.identity is not None and done.identity.share == 1
    theirs, info = hub.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "folder", output_loading_info=True)
    assert type(theirs).__name__ == name
    assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"]
    reader = hub.AutoTokenizer.from_pretrained(tmp_path / "folder")
    batch = reader(TEXTS, return_tensors="pt", padding=True)
    assert set(batch) == {"input_ids", "attention_mask"}
    with torch.no_grad():
        written = theirs.eval().generate(**batch, num_beams=1, do_sample=False, max_new_tokens=12)
        assert len(theirs.generate(**batch, num_beams=3, max_new_tokens=12)) == len(TEXTS)
    ours = [result.text for result in load(run, threads=1, engine="torch").translate(TEXTS, beams=1, max_tokens=12)]
    assert len(set(ours)) >= 2
    assert reader.batch_decode(written, skip_special_tokens=True) == ours


def test_the_card_and_the_settings(make_run: Callable[..., Path], tmp_path: Path) -> None:
    export_run(make_run(), "transformers", tmp_path / "folder")
    assert "AutoModelForSeq2SeqLM" in (tmp_path / "folder" / "README.md").read_text()
    config = json.loads((tmp_path / "folder" / "config.json").read_text())
    assert (config["encoder_layers"], config["d_model"], config["encoder_attention_heads"]) == (2, 16, 4)


@pytest.mark.parametrize(
    ("model", "tokenizer", "reason"),
    [
        (
            {"positions": "rotary"},
            {},
            r"model.positions = 'rotary'; train with --model.positions sinusoidal or learned",
        ),
        ({"norm": "post", "positions": "rotary"}, {}, r"train with --model.positions sinusoidal$"),
        ({"preset": "lstm-dot", "positions": None}, {}, r"--model.preset transformer --model.positions sinusoidal"),
        ({"tied_embeddings": False}, {"shared": False}, r"train with tokenizer.shared = true"),
        ({"tied_embeddings": False}, {}, r"train with model.tied_embeddings = true"),
    ],
)
def test_refusals_name_what_would_fit(model, tokenizer, reason, make_run: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=reason):
        export_run(make_run(model, tokenizer), "transformers", tmp_path / "folder")
    assert not list(tmp_path.iterdir())
