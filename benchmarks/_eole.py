"""eole, the successor of OpenNMT-py: its models, loss and optimizer. Its recurrent encoder reads padding as if it were
words, and feeds the attention back into the decoder's input (Luong); its bridge does not fit two directions, so the
decoder begins with the encoder's last state."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyonmttok  # pyrefly: ignore[missing-import]
import torch
from _driver import Batch, Step, serve
from eole.config.models import build_model_config  # pyrefly: ignore[missing-import]
from eole.config.training import TrainingConfig  # pyrefly: ignore[missing-import]
from eole.constants import DefaultTokens  # pyrefly: ignore[missing-import]
from eole.models.model import EncoderDecoderModel  # pyrefly: ignore[missing-import]
from eole.utils.loss import LossCompute  # pyrefly: ignore[missing-import]
from eole.utils.optimizers import Optimizer  # pyrefly: ignore[missing-import]

SPECIALS = {  # in the order of our ids
    "pad_token": DefaultTokens.PAD,
    "bos_token": DefaultTokens.BOS,
    "eos_token": DefaultTokens.EOS,
    "unk_token": DefaultTokens.UNK,
}


def eole_model(fields: dict[str, Any]) -> tuple[EncoderDecoderModel, dict[str, Any], SimpleNamespace]:
    """The model with fresh weights, its vocabularies, and its settings: `model` and `training`."""
    words = [f"w{number}" for number in range(fields["size"] - len(SPECIALS))]
    vocabulary = pyonmttok.build_vocab_from_tokens(words, special_tokens=list(SPECIALS.values()))
    vocabularies = {"src": vocabulary, "tgt": vocabulary, "specials": SPECIALS}
    vocabularies["decoder_start_token"] = DefaultTokens.BOS
    settings = _transformer(fields) if fields["preset"] == "transformer" else _recurrent(fields)
    training = TrainingConfig(
        dropout=[fields["dropout"]],
        attention_dropout=[0.0],
        label_smoothing=0.1,
        optim="adam",
        learning_rate=1e-4,
        max_grad_norm=1.0,
        param_init_method="xavier_uniform",
        self_attn_backend="pytorch",
    )
    config = SimpleNamespace(model=build_model_config(settings), training=training)
    return EncoderDecoderModel.for_training(config.model, vocabularies, training, device_id=-1), vocabularies, config


def make(fields: dict[str, Any]) -> Step:
    model, vocabularies, config = eole_model(fields)
    model.train()
    loss_of = LossCompute.from_config(config, model, vocabularies)
    optimizer = Optimizer.from_config(model, config)

    def step(batch: Batch) -> int:
        source, lengths = batch["source"], batch["source_mask"].sum(1)
        target = torch.cat((batch["target_in"][:, :1], batch["target_out"]), 1)
        tokens = int((batch["target_out"] != 0).sum())
        optimizer.zero_grad()
        states, attentions, _ = model(source, target, lengths)
        whole = {"src": source, "tgt": target, "srclen": lengths, "cid": [], "cid_line_number": []}
        loss, _, _ = loss_of(whole, states, attentions)
        optimizer.backward(loss / tokens)
        optimizer.step()
        return tokens

    return step


def _transformer(fields: dict[str, Any]) -> dict[str, Any]:
    width = fields["width"]
    return {
        "architecture": "transformer",
        "layers": fields["depth"],
        "hidden_size": width,
        "heads": fields.get("heads", 4),
        "transformer_ff": fields.get("ffn_width", 4 * width),
        "embeddings": {"word_vec_size": width, "position_encoding_type": "SinusoidalInterleaved"},
        "add_qkvbias": True,
        "add_final_linear_bias": True,
        "add_ffnbias": True,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
    }


def _recurrent(fields: dict[str, Any]) -> dict[str, Any]:
    width = fields["width"]
    return {
        "architecture": "custom",
        "layers": fields.get("depth", 1),
        "hidden_size": width,
        "embeddings": {"word_vec_size": width, "position_encoding_type": None},
        "encoder": {"encoder_type": "brnn", "rnn_type": "LSTM"},
        "decoder": {"decoder_type": "rnn", "rnn_type": "LSTM", "global_attention": "mlp"},
    }


if __name__ == "__main__":
    serve(make)
