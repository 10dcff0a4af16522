"""transformers: MarianMTModel of the same size."""

from __future__ import annotations

from typing import Any

from _driver import Step, serve, torch_step
from transformers import MarianConfig, MarianMTModel  # pyrefly: ignore[missing-import]


def marian(fields: dict[str, Any]) -> MarianMTModel:
    width, depth, heads = fields["width"], fields["depth"], fields.get("heads", 4)
    ffn = fields.get("ffn_width", 4 * width)
    return MarianMTModel(
        MarianConfig(
            vocab_size=fields["size"],
            d_model=width,
            encoder_layers=depth,
            decoder_layers=depth,
            encoder_attention_heads=heads,
            decoder_attention_heads=heads,
            encoder_ffn_dim=ffn,
            decoder_ffn_dim=ffn,
            dropout=fields["dropout"],
            attention_dropout=0.0,
            activation_dropout=fields["dropout"],
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=0,
            eos_token_id=2,
            decoder_start_token_id=1,
            max_position_embeddings=512,
            use_cache=True,
        )
    )


def make(fields: dict[str, Any]) -> Step:
    model = marian(fields)
    model.train()

    def logits(batch):
        return model(
            input_ids=batch["source"],
            attention_mask=batch["source_mask"].long(),
            decoder_input_ids=batch["target_in"],
            use_cache=False,
        ).logits

    return torch_step(model, logits)


if __name__ == "__main__":
    serve(make)
