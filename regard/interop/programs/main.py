import json
import sys
import unicodedata
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from regard.interop.programs.layers import Array
from regard.interop.programs.transformer_decoder import decode
from regard.interop.programs.transformer_encoder import encode

BOS, EOS = 1, 2
AS_WRITTEN = 258  # begins a text whose letters could not be put together again from their parts


def read_text(tokenizer: Tokenizer, kind: str, text: str) -> list[int]:
    parts = unicodedata.normalize("NFD", text)
    if kind != "decomposed" or unicodedata.normalize("NFC", parts) != text:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        return [AS_WRITTEN, *ids] if kind == "decomposed" else ids
    return tokenizer.encode(parts, add_special_tokens=False).ids


def write_text(tokenizer: Tokenizer, kind: str, ids: list[int]) -> str:
    if kind != "decomposed":
        return tokenizer.decode(ids, skip_special_tokens=False)
    if ids[:1] == [AS_WRITTEN]:
        return tokenizer.decode(ids[1:], skip_special_tokens=False)
    return unicodedata.normalize("NFC", tokenizer.decode(ids, skip_special_tokens=False))


def generate(w: dict[str, Array], c: dict, source: list[int], limit: int, texts: int) -> list[int]:
    """Greedy search: the most probable token at each step, until the end of the sentence."""
    memory = None if c["encoder"] == "none" else encode(w, c, [*source, EOS])
    begun, ids = ([EOS, BOS, *source] if memory is None else [BOS]), []
    while len(ids) < limit and ids[-1:] != [EOS]:
        logits = decode(w, c, [*begun, *ids], memory)[-1]
        logits[:EOS] = logits[texts:] = -np.inf  # padding, the start, and what is no text
        ids.append(int(logits.argmax()))
    return [token for token in ids if token != EOS]


if __name__ == "__main__":
    folder = Path(__file__).parent
    config = json.loads((folder / "config.json").read_text())
    weights = load_file(folder / "model.safetensors")
    weights |= {name: weights[other] for name, other in config["tied"].items()}
    source, target = (Tokenizer.from_file(str(folder / f"{side}.tokenizer.json")) for side in ("source", "target"))
    for line in sys.stdin:
        text = read_text(source, config["tokenizers"][0], line.rstrip("\n"))
        limit = config["max_tokens"] or (200 if config["model"]["encoder"] == "none" else 2 * len(text) + 50)
        ids = generate(weights, config["model"], text, limit, config["texts"])
        print(write_text(target, config["tokenizers"][1], ids), flush=True)
