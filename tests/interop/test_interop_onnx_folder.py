"""The ONNX graphs, run by onnxruntime in a process of its own, write our tokens; transformers.js our texts."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from regard import load
from regard.errors import UserError
from regard.interop import export_run

for name in ("onnx", "onnxscript", "onnxruntime"):
    pytest.importorskip(name, reason="the extra [interop] is not installed")
TEXTS = ["the old cat sees", "a blue bird über", "naïve 42.", "日本 (so)", "Ж unseen", "pad < s >"]
LIMIT = 12
# Greedy search by the graphs alone; onnxruntime and CTranslate2 must not be in one process
RUNTIME = """
import json, sys
import numpy as np, onnxruntime as ort
from tokenizers import Tokenizer

folder, suffix, limit, texts = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
config = json.load(open(f"{folder}/config.json"))
options = ort.SessionOptions()
options.intra_op_num_threads = 1
names = "encoder_model", "decoder_model_merged"
encoder, decoder = (ort.InferenceSession(f"{folder}/onnx/{name}{suffix}.onnx", options) for name in names)
tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
caches = [one for one in decoder.get_inputs() if one.name.startswith("past")]
assert all(one.shape[0] == "batch_size" for one in caches), caches
for text in texts:
    ids = np.array([tokenizer.encode(text).ids])
    mask = np.ones_like(ids)
    states, = encoder.run(None, {"input_ids": ids, "attention_mask": mask})
    past = {one.name: np.zeros((1, one.shape[1], 0, one.shape[3]), np.float32) for one in caches}
    last, written = config["decoder_start_token_id"], []
    while len(written) < limit:
        given = {"input_ids": np.array([[last]]), "encoder_hidden_states": states, "encoder_attention_mask": mask}
        logits, *present = decoder.run(None, given | past)
        past = dict(zip(past, present))
        last = int(logits[0, -1].argmax())
        if last == config["eos_token_id"]:
            break
        written.append(last)
    print(json.dumps(written))
"""


def greedy(folder: Path, suffix: str = "", texts: list[str] = TEXTS) -> list[tuple[int, ...]]:
    command = [sys.executable, "-c", RUNTIME, str(folder), suffix, str(LIMIT), json.dumps(texts)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-1500:]
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def ours(run: Path) -> list[tuple[int, ...]]:
    return [result.ids for result in load(run, threads=1, engine="torch").translate(TEXTS, beams=1, max_tokens=LIMIT)]


@pytest.fixture(scope="module")
def small(make_run) -> Path:
    return make_run({"depth": 1, "positions": "rotary"})


def test_onnxruntime_writes_our_tokens(small: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    exporter = logging.getLogger("torch.onnx")
    exporter.addHandler(caplog.handler)
    try:
        done = export_run(small, "onnx", tmp_path / "onnx")
    finally:
        exporter.removeHandler(caplog.handler)
    warnings = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    assert warnings == []  # torch's exporter would warn that torchvision is absent
    assert done.identity is not None and done.identity.share == 1
    names = {str(file.relative_to(done.path)) for file in done.path.rglob("*") if file.is_file()}
    settings = {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "README.md"}
    assert names == settings | {"onnx/encoder_model.onnx", "onnx/decoder_model_merged.onnx"}
    assert greedy(done.path) == ours(small)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        {"positions": "sinusoidal", "norm": "post", "activation": "gelu"},
        {"positions": "alibi", "norm": "none", "head_layout": "full"},
        {"positions": "learned", "max_positions": 60, "tied_embeddings": False},
    ],
    ids=lambda model: model["positions"],
)
def test_other_transformers_do_so_too(model: dict, make_run: Callable[..., Path], tmp_path: Path) -> None:
    run = make_run(model)
    assert greedy(export_run(run, "onnx", tmp_path / "onnx").path) == ours(run)


@pytest.mark.slow
def test_int8_is_smaller_and_mostly_the_same(translator_run: Path, tmp_path: Path) -> None:
    whole = export_run(translator_run, "onnx", tmp_path / "whole").path
    rounded = export_run(translator_run, "onnx", tmp_path / "rounded", precision="int8").path
    name = "onnx/encoder_model"
    assert (rounded / f"{name}_quantized.onnx").stat().st_size < (whole / f"{name}.onnx").stat().st_size
    texts = [example.source for example in load(translator_run).examples("test")]
    same = map(tuple.__eq__, greedy(rounded, "_quantized", texts), greedy(whole, texts=texts))
    assert sum(same) >= 0.9 * len(texts) == 18


JAVASCRIPT = """
import { env, pipeline } from "@huggingface/transformers";
env.allowRemoteModels = false;
env.localModelPath = process.argv[2];
const translate = await pipeline("translation", "onnx", { dtype: "fp32" });
for (const text of JSON.parse(process.argv[3])) {
  const [{ translation_text }] = await translate(text, { max_new_tokens: Number(process.argv[4]), num_beams: 1 });
  console.log(JSON.stringify(translation_text));
}
"""


@pytest.mark.slow
def test_transformers_js_writes_our_texts(small: Path, tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: apt-get install npm")
    packages = tmp_path / "packages"
    packages.mkdir()
    command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "@huggingface/transformers@4"]
    try:
        if subprocess.run(command, cwd=packages, capture_output=True, timeout=240).returncode != 0:
            pytest.skip("the npm registry cannot be reached")
    except subprocess.TimeoutExpired:
        pytest.skip("the npm registry is too slow")
    export_run(small, "onnx", tmp_path / "onnx")
    (packages / "translate.mjs").write_text(JAVASCRIPT)
    arguments = [str(tmp_path) + "/", json.dumps(TEXTS), str(LIMIT)]
    done = subprocess.run(
        ["node", "translate.mjs", *arguments], cwd=packages, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    results = load(small, threads=1, engine="torch").translate(TEXTS, beams=1, max_tokens=LIMIT)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [result.text for result in results]


def test_other_models_are_refused(make_run: Callable[..., Path], language_run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="only a Transformer that translates"):
        export_run(language_run, "onnx", tmp_path / "onnx")
    with pytest.raises(UserError, match="only a Transformer that translates"):
        export_run(make_run({"preset": "lstm-dot", "positions": "none"}), "onnx", tmp_path / "onnx")
    assert not (tmp_path / "onnx").exists()
