"""JoeyNMT: its models, loss and step; its padding is 1, so ids 0 and 1 are swapped."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from _driver import Batch, Step, serve
from joeynmt.model import Model, build_model  # pyrefly: ignore[missing-import]
from joeynmt.vocabulary import Vocabulary  # pyrefly: ignore[missing-import]
from torch import Tensor

SPECIALS = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>"}


def joey_model(fields: dict[str, Any]) -> Model:
    settings = {f"{name}_token": text for name, text in SPECIALS.items()}
    settings |= {f"{name}_id": index for index, name in enumerate(SPECIALS)}
    words = [f"w{number}" for number in range(fields["size"] - len(SPECIALS))]
    vocabulary = Vocabulary(words, SimpleNamespace(**settings, sep_token=None, sep_id=None, lang_tags=[]))
    kind = _transformer(fields) if fields["preset"] == "transformer" else _recurrent(fields)
    return build_model(kind, vocabulary, vocabulary)


def make(fields: dict[str, Any]) -> Step:
    model = joey_model(fields)
    model.loss_function = ("crossentropy", 0.1)
    model.train()
    adam = torch.optim.Adam(model.parameters(), lr=1e-4)

    def step(batch: Batch) -> int:
        order = batch["source_mask"].sum(1).argsort(descending=True)  # as its recurrent encoder needs them
        batch = {kind: values[order] for kind, values in batch.items()}
        source, target_in, target_out = (swapped(batch[kind]) for kind in ("source", "target_in", "target_out"))
        loss, _, _, _ = model(
            return_type="loss",
            src=source,
            src_mask=batch["source_mask"].unsqueeze(1),
            src_length=batch["source_mask"].sum(1),
            trg_input=target_in,
            trg=target_out,
            trg_mask=(target_out != model.pad_index).unsqueeze(1),
        )
        tokens = int((target_out != model.pad_index).sum())
        adam.zero_grad()
        (loss / tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        return tokens

    return step


def swapped(ids: Tensor) -> Tensor:
    return torch.where(ids < 2, 1 - ids, ids)


def _transformer(fields: dict[str, Any]) -> dict[str, Any]:
    width, dropout = fields["width"], fields["dropout"]
    side = {
        "type": "transformer",
        "num_layers": fields["depth"],
        "num_heads": fields.get("heads", 4),
        "embeddings": {"embedding_dim": width, "scale": True, "dropout": dropout},
        "hidden_size": width,
        "ff_size": fields.get("ffn_width", 4 * width),
        "dropout": dropout,
        "layer_norm": "pre",
    }
    return {"encoder": side, "decoder": dict(side), "tied_embeddings": True, "tied_softmax": True}


def _recurrent(fields: dict[str, Any]) -> dict[str, Any]:
    width, dropout = fields["width"], fields["dropout"]
    shared = {"type": "recurrent", "rnn_type": "lstm", "num_layers": fields.get("depth", 1), "dropout": dropout}
    shared["embeddings"] = {"embedding_dim": width, "dropout": dropout}
    encoder = {**shared, "hidden_size": width // 2, "bidirectional": True}
    decoder = {
        **shared,
        "hidden_size": width,
        "attention": "bahdanau",
        "hidden_dropout": dropout,
        "init_hidden": "bridge",
    }
    return {"encoder": encoder, "decoder": decoder}


if __name__ == "__main__":
    serve(make)
