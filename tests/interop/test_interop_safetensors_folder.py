"""The NumPy program beside the weights, run alone, writes what regard writes; the reading names every weight."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from tiny_models import SIZES, SOURCE_SIZE, TARGET_SIZE

from regard import load
from regard.checkpoint import load_run
from regard.config import plan_model, settle
from regard.errors import UserError
from regard.interop import export_run
from regard.interop.browser_model import model_facts
from regard.interop.programs import program
from regard.weights import weights_of

FAMILIES = [
    ("rnn-language", {"cell": "gru", "depth": 2, "first_state": "learned"}),
    ("rnn-fixed", {"depth": 2}),
    ("rnn-fixed-every-step", {"first_state": "learned"}),
    ("lstm-fixed", {"direction": "backward"}),
    ("lstm-additive", {"depth": 2, "query": "state-and-token"}),
    ("lstm-dot", {"weighting": "proportional"}),
    ("lstm-bilinear", {"encoder_width": 8}),
    ("lstm-projected", {}),
    ("lstm-scaled-dot", {}),
    ("lstm-cosine", {}),
    ("lstm-multihead", {"head_layout": "full"}),
    ("attention-rnn", {}),
    ("convolution", {"depth": 2, "kernel": 4}),
    ("transformer", {"positions": "rotary", "norm": "post", "activation": "gelu"}),
    ("transformer", {"positions": "alibi", "norm": "none", "activation": "tanh"}),
    ("transformer", {"positions": "learned", "position_combine": "concatenate", "residuals": False}),
    ("transformer", {"positions": "sinusoidal", "projections": "none"}),
    ("transformer-language", {"depth": 1, "positions": "rotary"}),
]


@pytest.mark.parametrize(("preset", "fields"), FAMILIES)
def test_every_program_gives_torchs_logits(preset: str, fields: dict, tiny: Callable) -> None:
    model = tiny(preset, **fields)
    plan = plan_model(settle({"model": {"preset": preset, **SIZES, **fields}}).model)
    space: dict = {"__name__": "program"}
    text = program(plan)
    assert "regard" not in text and len([line for line in text.splitlines() if line]) < 215
    exec(compile(text, "run.py", "exec"), space)
    weights = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(3, SOURCE_SIZE, (1, 6), generator=generator)
    target = torch.randint(1, TARGET_SIZE, (1, 4), generator=generator)
    facts, ids = model_facts(plan), target[0].tolist()
    if plan.encoder == "none":
        logits = space["decode"](weights, facts, [*source[0].tolist(), *ids], None)[6:]
    else:
        logits = space["decode"](weights, facts, ids, space["encode"](weights, facts, source[0].tolist()))
    with torch.no_grad():
        expected = model(source, torch.ones(1, 6, dtype=torch.bool), target)[0].numpy()
    np.testing.assert_allclose(logits, expected, atol=1e-4 * max(1, np.abs(expected).max() / 10))


TEXTS = ["the old cat sees", "naïve 42.", "日本 (so)", "Ж unseen", "pad < s >"]


@pytest.mark.parametrize("kind", ["bpe", "decomposed", "language"])
def test_the_program_alone_writes_our_outputs(kind: str, make_run, language_run: Path, tmp_path: Path) -> None:
    path = language_run if kind == "language" else make_run({"positions": "sinusoidal"}, {"kind": kind, "size": 300})
    folder = export_run(path, "safetensors", tmp_path / "weights").path
    lines = "".join(f"{text}\n" for text in TEXTS)
    command = [sys.executable, "-I", str(folder / "run.py")]
    done = subprocess.run(command, input=lines.encode(), capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr[-1000:]
    ours = load(path, threads=1, engine="torch").translate(TEXTS, beams=1)
    assert done.stdout == "".join(f"{result.text}\n" for result in ours).encode()


def test_the_folder_reads_itself(make_run, tmp_path: Path) -> None:
    run = load_run(make_run({"positions": "sinusoidal"}))
    folder = export_run(run, "safetensors", tmp_path / "weights").path
    names = {"model.safetensors", "config.json", "source.tokenizer.json", "target.tokenizer.json", "run.py"}
    assert {file.name for file in folder.iterdir()} == names | {"READING.md", "README.md"}
    weights, reading = load_file(folder / "model.safetensors"), (folder / "READING.md").read_text()
    assert weights.keys() == weights_of(run.model).keys()
    assert all(f"| `{name}` | {array.shape} |" in reading for name, array in weights.items())
    assert "softmax(Q_h K_hᵀ/√K)" in reading and "y = x Wᵀ + b" in reading


def test_what_has_no_program_is_refused(classifier_run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the NumPy program translates"):
        export_run(classifier_run, "safetensors", tmp_path / "weights")
    assert not (tmp_path / "weights").exists()
