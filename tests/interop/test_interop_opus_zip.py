"""OPUS's own zip is the same model as the hub's folder: Marian's names and orientation, a vocabulary as YAML."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from opus_fixture import texts, write_opus_mt
from safetensors.torch import load_file

from regard import load
from regard.errors import UserError
from regard.interop import import_model
from regard.interop.opus_zip import parse_yaml

pytest.importorskip("transformers", reason="only tests need it: pip install transformers")
PARTS = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "out_proj": "o"}


def marian_arrays(folder: Path) -> dict[str, np.ndarray]:
    """The hub's weights under Marian's names, without <pad>, which is the last row."""
    arrays = {}
    for name, tensor in load_file(folder / "model.safetensors").items():
        parts = name.split(".")
        if name == "model.shared.weight":
            arrays["Wemb"] = tensor[:-1].numpy()
        elif name == "final_logits_bias":
            arrays["decoder_ff_logit_out_b"] = tensor[:, :-1].numpy()
        elif parts[2:3] == ["layers"]:
            side, layer, block, kind = parts[1], int(parts[3]) + 1, parts[4], parts[-1]
            prefix = f"{side}_l{layer}"
            attention = {"self_attn": "self", "encoder_attn": "context"}
            ends = {"weight": "scale", "bias": "bias"}
            if block in attention:
                letter = PARTS[parts[5]]
                own = f"{prefix}_{attention[block]}_{'W' if kind == 'weight' else 'b'}{letter}"
            elif block.endswith("attn_layer_norm"):
                own = f"{prefix}_{attention[block.removesuffix('_layer_norm')]}_Wo_ln_{ends[kind]}"
            elif block == "final_layer_norm":
                own = f"{prefix}_ffn_ffn_ln_{ends[kind]}"
            else:
                own = f"{prefix}_ffn_{'W' if kind == 'weight' else 'b'}{block[-1]}"
            matrix = tensor.ndim == 2
            arrays[own] = tensor.t().contiguous().numpy() if matrix else tensor[None].numpy()
    return arrays


def write_package(folder: Path, settings: str = "", **more: np.ndarray) -> Path:
    hub = write_opus_mt(folder / "hub")
    arrays = marian_arrays(hub)
    yml = f"type: transformer\ntransformer-heads: 4\ntransformer-ffn-activation: swish\n{settings}"
    arrays["special:model.yml"] = np.frombuffer(yml.encode() + b"\0", dtype=np.int8)
    np.savez(folder / "model.npz", **arrays, **more)
    names = sorted((i, name) for name, i in json.loads((hub / "vocab.json").read_text()).items() if name != "<pad>")
    vocabulary = "".join(f"{json.dumps(name, ensure_ascii=False)}: {i}\n" for i, name in names)
    decoder = "relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n  - a.vocab.yml\n  - a.vocab.yml\nbeam-size: 4\n"
    with zipfile.ZipFile(folder / "opus.zip", "w") as archive:
        archive.write(folder / "model.npz", "model.npz")
        archive.writestr("decoder.yml", decoder)
        archive.writestr("a.vocab.yml", vocabulary)
        archive.writestr("README.md", "# opus\n\n* license: CC-BY 4.0\n")
        for side in ("source", "target"):
            archive.write(hub / f"{side}.spm", f"{side}.spm")
    return folder / "opus.zip"


def test_both_layouts_are_one_model(tmp_path: Path) -> None:
    package = write_package(tmp_path)
    import_model(package, tmp_path / "zip")
    import_model(tmp_path / "hub", tmp_path / "folder")
    ours, other = (load(tmp_path / name, threads=1, engine="torch") for name in ("zip", "folder"))
    pad = torch.tensor([0])
    for (name, tensor), expected in zip(
        ours.run.model.state_dict().items(), other.run.model.state_dict().values(), strict=True
    ):
        kept = tensor.index_fill(0, pad, 0) if name.endswith("output.bias") else tensor
        assert torch.equal(kept, expected.index_fill(0, pad, 0) if name.endswith("output.bias") else expected), name
    assert ours.run.source_codec.encode(texts(3)[2]) == other.run.source_codec.encode(texts(3)[2])
    assert ours.run.facts["origin"]["licence"] == "CC-BY 4.0" and ours.run.plan.search.beams == 4


def test_other_shapes_are_refused(tmp_path: Path) -> None:
    package = write_package(tmp_path, settings="transformer-preprocess: n\n")
    with pytest.raises(UserError, match="transformer-preprocess is 'n'"):
        import_model(package, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_yaml_as_marian_writes_it() -> None:
    text = '"\\"": 3\n\'it\'\'s\': 4\n▁a: 5\n":": 6\n"\\x85": 7\nlist:\n  - one\n  - "two"\n'
    parsed = parse_yaml(text, "x.yml")
    assert parsed == {'"': "3", "it's": "4", "▁a": "5", ":": "6", "\x85": "7", "list": ["one", "two"]}
    with pytest.raises(UserError, match=r"x\.yml:2"):
        parse_yaml("{a: 1}\n  b", "x.yml")
