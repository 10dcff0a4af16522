"""An OPUS-MT model of random weights, written by transformers and sentencepiece themselves."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

LETTERS = "aeinorstlu"
MARKS = ["</s>", "<unk>"]


def texts(count: int, seed: int = 1) -> list[str]:
    """Made-up sentences, with accents, figures and what no piece can spell."""
    draw = random.Random(seed)
    words = ["".join(draw.choice(LETTERS) for _ in range(draw.randint(1, 7))) for _ in range(150)]
    words += ["naïve", "Über", "e\u0301te\u0301", "3.14", "(so)", "ﬁne", "½"]
    lines = [" ".join(draw.choice(words) for _ in range(draw.randint(1, 4))) + draw.choice(".?!") for _ in range(count)]
    return [f"{line} 日本" if number % 17 == 0 else line for number, line in enumerate(lines)]


def piece_model(lines: list[str], size: int, **options: Any) -> bytes:
    sentencepiece = pytest.importorskip("sentencepiece", reason="the extra [interop] is not installed")
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=buffer, vocab_size=size, hard_vocab_limit=False,
        minloglevel=2, bos_id=-1, eos_id=1, unk_id=0, num_threads=1, **options,
    )  # fmt: skip
    return buffer.getvalue()


def pieces_of(proto: bytes) -> list[str]:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
    return [processor.id_to_piece(i) for i in range(len(processor))]


def write_opus_mt(folder: Path, shared: bool = True, **fields: Any) -> Path:
    """What the hub has of an OPUS-MT model."""
    transformers = pytest.importorskip("transformers", reason="only tests need it: pip install transformers")
    import torch

    folder.mkdir(parents=True)
    protos = {"source": piece_model(texts(300), 200), "target": piece_model(texts(300, 2), 180, model_type="bpe")}
    lists = [pieces_of(proto) for proto in protos.values()]
    vocabularies = [[*MARKS, *dict.fromkeys(piece for side in lists for piece in side if piece not in MARKS)]]
    if not shared:
        vocabularies = [[*MARKS, *(piece for piece in side if piece not in MARKS)] for side in lists]
        size = max(map(len, vocabularies))  # one <pad> for both sides
        vocabularies = [[*side, *(f"<extra {i}>" for i in range(size - len(side)))] for side in vocabularies]
    for names in vocabularies:
        names.append("<pad>")
    for side, proto in protos.items():
        (folder / f"{side}.spm").write_bytes(proto)
    for name, names in zip(("vocab.json", "target_vocab.json"), vocabularies, strict=False):
        (folder / name).write_text(json.dumps({piece: i for i, piece in enumerate(names)}))
    pad = len(vocabularies[0]) - 1
    config = transformers.MarianConfig(
        vocab_size=pad + 1, decoder_vocab_size=pad + 1, d_model=32, encoder_layers=2, decoder_layers=1,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
        pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0, forced_eos_token_id=None, bos_token_id=None,
        share_encoder_decoder_embeddings=shared, max_position_embeddings=128,
        **{"activation_function": "swish", "scale_embedding": True, **fields},
    )  # fmt: skip
    torch.manual_seed(4)
    model = transformers.MarianMTModel(config).eval()
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():  # what is written depends on the source, and mostly comes to an end
        for name, parameter in model.named_parameters():
            parameter += (0.3 if "layers" in name else 0.4) * torch.randn(parameter.shape, generator=generator)
            parameter *= 5 if "encoder_attn" in name and "norm" not in name else 1
        for table in (model.get_encoder().embed_tokens, model.get_decoder().embed_tokens):
            table.weight[pad] = 0
        model.final_logits_bias.normal_(generator=generator).mul_(0.3)
        model.final_logits_bias[0, 0] += 4
    tokenizer = {"source_lang": "en", "target_lang": "fr", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps({**tokenizer, "separate_vocabs": not shared}))
    model.generation_config.bad_words_ids = [[pad]]
    model.generation_config.num_beams = 4
    model.save_pretrained(folder)
    (folder / "README.md").write_text("---\nlanguage:\n- en\n- fr\nlicense: cc-by-4.0\n---\n\n# a model\n")
    return folder
