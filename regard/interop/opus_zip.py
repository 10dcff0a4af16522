"""OPUS-MT models as OPUS itself ships them: a zip, or its folder, with Marian's own files.

    decoder.yml                        names of the other files
    *.npz                              weights, and the model's own settings as `special:model.yml`
    *.vocab.yml                        ids of pieces
    source.spm, target.spm, README.md  SentencePiece models; about the model

What differs from the hub's files is renamed: `encoder_l1_self_Wq` is stored (in, out), and layers count from one.
"""

from __future__ import annotations

import json
import re
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.config import SearchSettings
from regard.errors import UserError
from regard.interop.imported import ImportedModel, Origin
from regard.interop.opus_mt import marian_model, read_bytes

SETTINGS = "special:model.yml"
NEEDED = {  # Marian's settings that our model follows
    "transformer-preprocess": ("", "n/a"),
    "transformer-postprocess": ("dan",),
    "transformer-postprocess-emb": ("d", ""),
    "transformer-decoder-autoreg": ("self-attention",),
    "type": ("transformer",),
}


def is_opus_package(place: Path) -> bool:
    return (place / "decoder.yml").is_file() or (place.is_file() and zipfile.is_zipfile(place))


def read_opus_package(place: Path) -> ImportedModel:
    if place.is_dir():
        return _read_folder(place, place.name)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(place) as archive:
        for member in archive.infolist():  # by base names: nothing is written elsewhere
            if not member.is_dir():
                (Path(folder) / Path(member.filename).name).write_bytes(archive.read(member))
        return _read_folder(Path(folder), place.stem)


def _read_folder(folder: Path, name: str) -> ImportedModel:
    listed = parse_yaml(read_bytes(folder / "decoder.yml").decode(), str(folder / "decoder.yml"))
    arrays = _arrays(folder / Path(_single(folder, listed, "models")).name)
    settings = parse_yaml(bytes(arrays[SETTINGS]).rstrip(b"\0").decode(), SETTINGS) if SETTINGS in arrays else {}
    for key, allowed in NEEDED.items():
        if str(settings.get(key, allowed[0])) not in allowed:
            raise UserError(f"{name}: its {key} is {settings[key]!r}, and ours can only be {' or '.join(allowed)!r}")
    files = [Path(str(file)).name for file in listed.get("vocabs", [])]
    vocabularies = [_vocabulary(folder / file) for file in dict.fromkeys(files)]
    if not vocabularies:
        raise UserError(f"{folder / 'decoder.yml'} names no vocabs; restore it")
    weights = dict(_renamed(arrays))
    one_table = "Wemb" in arrays
    config = _config(arrays, settings, weights, vocabularies, one_table)
    for vocabulary in vocabularies:
        vocabulary["<pad>"] = len(vocabulary)
    search = SearchSettings(beams=int(listed.get("beam-size", 6)), length_penalty=float(listed.get("normalize", 1)))
    return marian_model(folder, config, weights, vocabularies, search, _origin(folder, name))


def _config(
    arrays: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    weights: dict[str, Tensor],
    vocabularies: list[dict[str, int]],
    one_table: bool,
) -> dict[str, Any]:
    """What the hub's config.json would say; the tables get a row of zeros for <pad>, which Marian has no name for."""
    for name in [name for name in weights if name.endswith(("embed_tokens.weight", "shared.weight"))]:
        weights[name] = torch.cat((weights[name], torch.zeros(1, weights[name].shape[1])))
    bias = torch.from_numpy(arrays["decoder_ff_logit_out_b"]).float().flatten()
    weights["final_logits_bias"] = torch.cat((bias, torch.zeros(1)))[None]
    depths = {
        side: max((int(found[1]) for name in arrays if (found := re.match(rf"{side}_l(\d+)_", name))), default=0)
        for side in ("encoder", "decoder")
    }
    width = int(arrays["encoder_l1_self_Wq"].shape[0])
    heads, ffn = int(settings.get("transformer-heads", 8)), int(arrays["encoder_l1_ffn_W1"].shape[1])
    return {
        "d_model": width,
        "encoder_layers": depths["encoder"],
        "decoder_layers": depths["decoder"],
        **{f"{side}_attention_heads": heads for side in depths},
        **{f"{side}_ffn_dim": ffn for side in depths},
        "activation_function": str(settings.get("transformer-ffn-activation", "swish")),
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": one_table,
        "pad_token_id": len(vocabularies[0]),
        "eos_token_id": vocabularies[0]["</s>"],
        "dropout": float(settings.get("transformer-dropout", 0.1)),
    }


def _renamed(arrays: Mapping[str, np.ndarray]) -> Iterator[tuple[str, Tensor]]:
    """The hub's names, and its orientation."""
    tables = {"Wemb": "model.shared", "encoder_Wemb": "model.encoder.embed_tokens"}
    tables["decoder_Wemb"] = "model.decoder.embed_tokens"
    attentions = {"self": "self_attn", "context": "encoder_attn"}
    parts = {"Wq": "q_proj", "Wk": "k_proj", "Wv": "v_proj", "Wo": "out_proj"}
    for name, array in arrays.items():
        if name in tables:
            yield f"{tables[name]}.weight", torch.from_numpy(array).float()
        found = re.fullmatch(r"(encoder|decoder)_l(\d+)_(self|context|ffn)_(.+)", name)
        if found is None:
            continue
        side, layer, block, part = found[1], int(found[2]) - 1, found[3], found[4]
        prefix = f"model.{side}.layers.{layer}"
        tensor = torch.from_numpy(array).float()
        if block == "ffn":
            own = {"W1": "fc1.weight", "b1": "fc1.bias", "W2": "fc2.weight", "b2": "fc2.bias"}.get(part)
            own = own or {"ffn_ln_scale": "final_layer_norm.weight", "ffn_ln_bias": "final_layer_norm.bias"}.get(part)
        elif part.startswith("Wo_ln_"):
            own = f"{attentions[block]}_layer_norm.{'weight' if part.endswith('scale') else 'bias'}"
        else:
            kind = "weight" if part.startswith("W") else "bias"
            own = f"{attentions[block]}.{parts[f'W{part[1]}']}.{kind}"
        if own is not None:
            yield f"{prefix}.{own}", tensor.t() if part.startswith("W") and "_ln_" not in part else tensor.flatten()


def _arrays(file: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(file, allow_pickle=False) as content:
            return {name: content[name] for name in content.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UserError(f"{file} is not an npz file of plain arrays ({error}); restore it") from None


def _single(folder: Path, listed: Mapping[str, Any], key: str) -> str:
    names = listed.get(key, [])
    if len(names) != 1:
        raise UserError(f"{folder / 'decoder.yml'} names {len(names)} {key}; one is taken")
    return str(names[0])


def _vocabulary(file: Path) -> dict[str, int]:
    entries = parse_yaml(read_bytes(file).decode(), str(file))
    return {str(piece): int(i) for piece, i in entries.items()}


def _origin(folder: Path, name: str) -> Origin:
    """Zips state a licence in a file of its own; languages are those of the folder's name, as in eng-fra."""
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8", errors="replace") if readme.is_file() else ""
    found = re.search(r"licen[sc]e:? *\**(CC[-\w. ]+?\d\.\d)", text, re.IGNORECASE)
    licence = found[1] if found else "see its LICENSE" if (folder / "LICENSE").is_file() else None
    return Origin(name, "opus-mt (npz)", licence, (None, None))


def parse_yaml(text: str, where: str) -> dict[str, Any]:
    """The YAML that Marian writes: `key: value` lines, and lists of one value a line under a key."""
    entries: dict[str, Any] = {}
    current = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.startswith(("#", "---")):
            continue
        item = re.fullmatch(r"\s*- (.*)", line)
        if item is not None and current:
            values = entries[current] if isinstance(entries[current], list) else []
            entries[current] = [*values, _scalar(item[1])]
            continue
        pair = re.fullmatch(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|.+?):(?:\s+(.*))?""", line)
        if pair is None or line[0] == " ":
            raise UserError(f"{where}:{number}: {line!r} is not a line of a YAML file that Marian writes; restore it")
        current = str(_scalar(pair[1]))
        entries[current] = _scalar(pair[2] or "")
    return entries


def _scalar(text: str) -> Any:
    text = text.strip()
    if text.startswith('"'):
        return json.loads(re.sub(r"\\x(..)", r"\\u00\1", text))
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    return text
