"""The splitter is a valid ONNX model whose every score says: goes on."""

from __future__ import annotations

import json

import numpy as np
import pytest

from regard.interop.never_split import never_split


def test_it_is_a_valid_model_that_gives_zeros() -> None:
    onnx = pytest.importorskip("onnx", reason="the extra [interop] is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="the extra [interop] is not installed")
    content = never_split("en")
    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    units, features = np.ones((2, 7), np.int64), np.zeros((2, 7, 1), np.float32)
    (scores,) = session.run(None, {"units": units, "features": features})
    assert scores.shape == (2, 7, 5) and not scores.any()
    notes = session.get_modelmeta().custom_metadata_map
    assert json.loads(notes["config"])["no_ssplit"] is True
    assert json.loads(notes["vocab"])["_unit2id"]["<UNK>"] == 1
    assert (notes["lexicon"], notes["lang_code"]) == ("null", "en")


def test_minisbd_leaves_a_text_whole(tmp_path) -> None:
    minisbd = pytest.importorskip("minisbd", reason="minisbd is not installed")
    (tmp_path / "x.onnx").write_bytes(never_split("en"))
    text = "Mr. Smith came. He saw! 3.5 of them? Yes."
    assert minisbd.SBDetect(str(tmp_path / "x.onnx"), use_gpu=False).sentences(text) == [text]
