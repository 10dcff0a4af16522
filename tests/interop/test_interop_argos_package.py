"""What Argos Translate does with a package gives our outputs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import torch

from regard import load
from regard.checkpoint import MODEL, Run, load_run
from regard.data.tokenizer import Tokenizer
from regard.data.vocabulary import BYTES, EOS
from regard.errors import UserError
from regard.interop import export_run
from regard.interop.piece_models import written_pieces
from regard.weights import weights_of, write_tensors

ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra [fast] is not installed")
TEXTS = ["the old cat sees", "a blue bird über", "日本 (so)", "Ж unseen", "[a] {b", "a_b"]
FOLDER = "translate-en_fr-1_0"
FILES = {
    "metadata.json",
    "README.md",
    "sentencepiece.model",
    "minisbd/never_split.onnx",
    "model/config.json",
    "model/model.bin",
    "model/shared_vocabulary.json",
}


def unpacked(package: Path, folder: Path) -> Path:
    with ZipFile(package) as archive:
        assert archive.testzip() is None
        archive.extractall(folder)
    assert [path.name for path in folder.iterdir()] == [FOLDER]
    return folder / FOLDER


def argos(folder: Path, text: str, **options: Any) -> str:
    """The calls of argostranslate.translate, without its last step, which turns each _ into a space."""
    spm = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
    processor = spm.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    translator = ctranslate2.Translator(str(folder / "model"), "cpu", intra_threads=1)
    tokens = [processor.encode(text, out_type=str)]
    calls: dict[str, Any] = {"beam_size": 4, "num_hypotheses": 1, "length_penalty": 0.2}
    calls |= {"replace_unknowns": True, "max_batch_size": 32, "batch_type": "tokens", "return_scores": True}
    result = translator.translate_batch(tokens, **calls | options)[0]
    return processor.decode_pieces(result.hypotheses[0]).replace("▁", " ")


def of_whole_characters(source: Path, folder: Path) -> Path:
    """A copy of a run that never writes bytes or parts of characters, as one that was trained for longer does not:
    of bytes that are no text, each library makes another number of U+FFFD."""
    shutil.copytree(source, folder)
    run = load_run(folder)
    assert isinstance(run.target_codec, Tokenizer)
    names = written_pieces(run.target_codec).names
    bias = run.model.output_layer.bias
    assert isinstance(bias, torch.Tensor)
    with torch.no_grad():
        bias[[i for i in range(run.target_codec.size) if i != EOS and names.get(i, BYTES[0]) in BYTES]] -= 999
    write_tensors(folder / MODEL, weights_of(run.model))
    return folder


def sources(run: Run) -> list[str]:
    return [example.source for example in run.examples("dev")]


@pytest.mark.parametrize(
    ("model", "tokenizer"),
    [
        ({}, {}),
        ({"positions": "rotary", "norm": "post"}, {"kind": "unigram"}),
        ({"tied_embeddings": False}, {"kind": "character"}),
    ],
    ids=["bpe", "unigram", "characters"],
)
def test_greedy_outputs_are_ours(model, tokenizer, make_run: Callable[..., Path], tmp_path: Path) -> None:
    spm = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
    run = load_run(of_whole_characters(make_run(model, tokenizer), tmp_path / "run"))
    assert isinstance(run.source_codec, Tokenizer)
    done = export_run(run, "argos", tmp_path / "x.argosmodel", precision="float32", force=True)
    folder = unpacked(tmp_path / "x.argosmodel", tmp_path / "packages")
    processor = spm.SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    names = written_pieces(run.source_codec).names
    dev = sources(run)
    texts = [
        text
        for text in [*TEXTS, *dev]
        if processor.encode(text, out_type=str) == [names.get(i) for i in run.source_codec.encode(text)]
    ]
    assert len(texts) >= 0.8 * len(TEXTS + dev) and done.identity is not None and done.identity.share > 0.99
    translator = load(run.path, threads=1, engine="torch")
    results = translator.translate(texts, beams=1, max_tokens=12)
    ours = {text: result.text for text, result in zip(texts, results, strict=True) if result.text}  # it writes a piece
    assert len(set(ours.values())) >= 3
    assert {text: argos(folder, text, beam_size=1, max_decoding_length=12) for text in ours} == ours


def test_a_tokenizer_that_would_cut_otherwise_is_refused(make_run: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"182 of 183 pieces.*'bird, naïve!'.*add --force"):
        export_run(make_run(), "argos", tmp_path / "x.argosmodel")
    assert not list(tmp_path.iterdir())
    done = export_run(make_run(), "argos", tmp_path / "x.argosmodel", force=True)
    assert done.identity is not None and "1 of 30 texts differ" in done.summary()[1]


def test_the_package_is_what_argos_reads_and_the_same_each_time(make_run: Callable[..., Path], tmp_path: Path) -> None:
    run = make_run({}, {"kind": "character"})
    for name in ("a", "b"):
        export_run(run, "argos", tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with ZipFile(tmp_path / "a") as archive:
        assert set(archive.namelist()) == {f"{FOLDER}/{file}" for file in FILES}
    folder = unpacked(tmp_path / "a", tmp_path / "packages")
    facts = json.loads((folder / "metadata.json").read_text())
    assert (facts["from_code"], facts["from_name"]) == ("en", "English")
    assert (facts["to_code"], facts["to_name"], facts["package_version"]) == ("fr", "French", "1.0")
    config = json.loads((folder / "model" / "config.json").read_text())
    assert config["add_source_eos"] is True and config["decoder_start_token"] == "<s>"
    assert isinstance(argos(folder, sources(load_run(run))[0], max_decoding_length=12), str)
    export_run(run, "argos", tmp_path / "exact", precision="float32")
    exact = unpacked(tmp_path / "exact", tmp_path / "of exact")
    int8, float32 = ((place / "model" / "model.bin").stat().st_size for place in (folder, exact))
    assert int8 < 0.8 * float32


def test_argos_translate_installs_it(make_run: Callable[..., Path], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("ARGOS_PACKAGES_DIR", str(tmp_path / "packages"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    package = pytest.importorskip("argostranslate.package", reason="argostranslate is not installed")
    export_run(make_run({}, {"kind": "character"}), "argos", tmp_path / "x.argosmodel")
    package.install_from_path(tmp_path / "x.argosmodel")
    (installed,) = package.get_installed_packages()
    assert (installed.from_code, installed.to_code) == ("en", "fr")


def test_what_argos_cannot_hold_is_refused_and_leaves_nothing(make_run: Callable[..., Path], tmp_path: Path) -> None:
    cases = [
        ({"tied_embeddings": False}, {"shared": False}, r"train with tokenizer.shared = true"),
        ({}, {"kind": "word"}, r"tokenizer.kind = 'word'.*bpe, unigram or character"),
        ({"preset": "lstm-dot", "positions": None}, {}, r"only a Transformer"),
    ]
    for model, tokenizer, reason in cases:
        with pytest.raises(UserError, match=reason):
            export_run(make_run(model, tokenizer), "argos", tmp_path / "x.argosmodel")
    assert not list(tmp_path.iterdir())
