"""CTranslate2 alone, with the tokenizers beside the model, gives our outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from regard import load
from regard.errors import UserError
from regard.interop import export_run

ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra [fast] is not installed")
TEXTS = ["the old cat sees", "a blue bird über", "naïve 42.", "日本 (so)", "Ж unseen", "[a] {b"]


def translated(folder: Path, texts: list[str], limit: int, **options) -> list[str]:
    source, target = (Tokenizer.from_file(str(folder / f"{side}.tokenizer.json")) for side in ("source", "target"))
    tokens = [source.encode(text, add_special_tokens=False).tokens for text in texts]
    results = ctranslate2.Translator(str(folder), "cpu", intra_threads=1).translate_batch(
        tokens, max_decoding_length=limit, **options
    )
    ids = [[target.token_to_id(token) for token in result.hypotheses[0]] for result in results]
    return [target.decode(row, skip_special_tokens=False) for row in ids]


@pytest.mark.parametrize(
    ("model", "tokenizer"),
    [
        ({}, {}),
        ({"positions": "rotary", "activation": "gelu"}, {"kind": "unigram"}),
        ({"norm": "post", "tied_embeddings": False}, {"kind": "word", "shared": False}),
        ({"positions": "learned", "max_positions": 60}, {"kind": "character"}),
    ],
    ids=["bpe", "unigram rotary", "two vocabularies", "characters"],
)
def test_greedy_outputs_are_ours(model, tokenizer, make_run: Callable[..., Path], tmp_path: Path) -> None:
    run = make_run(model, tokenizer)
    done = export_run(run, "ctranslate2", tmp_path / "folder")
    assert done.identity is not None and done.identity.share == 1 and done.identity.texts == 30
    ours = [result.text for result in load(run, threads=1, engine="torch").translate(TEXTS, beams=1, max_tokens=12)]
    assert len(set(ours)) >= 2
    assert translated(tmp_path / "folder", TEXTS, 12, beam_size=1) == ours


def test_int8_is_smaller_and_runs(make_run: Callable[..., Path], tmp_path: Path) -> None:
    run = make_run()
    sizes = {}
    for precision in ("float32", "int8"):
        export_run(run, "ctranslate2", tmp_path / precision, precision=precision)
        sizes[precision] = (tmp_path / precision / "model.bin").stat().st_size
        assert len(translated(tmp_path / precision, TEXTS, 12, beam_size=2)) == len(TEXTS)
    assert sizes["int8"] < 0.8 * sizes["float32"]


def test_what_ctranslate2_cannot_run_is_refused_and_leaves_nothing(
    make_run: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=r"only a Transformer.*train such a model"):
        export_run(make_run({"preset": "lstm-dot", "positions": None}), "ctranslate2", tmp_path / "lstm")
    with pytest.raises(UserError, match=r"model.positions = 'alibi'.*takes sinusoidal"):
        export_run(make_run({"positions": "alibi"}), "ctranslate2", tmp_path / "alibi")
    assert not list(tmp_path.iterdir())
