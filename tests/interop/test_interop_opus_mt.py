"""An imported OPUS-MT model gives what transformers gives: ids, logits, greedy and beam outputs."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from opus_fixture import texts, write_opus_mt
from torch import Tensor

from regard import load
from regard.errors import UserError
from regard.inference.batching import pad_sources
from regard.interop import export_run, import_model

transformers = pytest.importorskip("transformers", reason="only tests need it: pip install transformers")
pytest.importorskip("sentencepiece", reason="the extra [interop] is not installed")
LINES = texts(240, 9)
LONGEST = 20
KINDS: dict[str, dict[str, Any]] = {
    "one vocabulary": {},
    "two vocabularies": {"shared": False},
    "unscaled relu": {"scale_embedding": False, "activation_function": "relu"},
}


class Imported:
    """The same model for both programs."""

    def __init__(self, folder: Path, run: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it recommends another package
            self.tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
        self.model = transformers.MarianMTModel.from_pretrained(folder).eval()
        self.run, self.ours = run, load(run, threads=1, engine="torch")
        self.pad = int(self.model.config.pad_token_id)
        self.rows = [self.pad, self.pad, 0, *range(1, self.pad)]  # their id of each of our ids

    def generate(self, lines: list[str], beams: int) -> tuple[list[str], list[bool]]:
        """Their outputs, and whether they ended."""
        batch = self.tokenizer(lines, return_tensors="pt", padding=True)
        with torch.no_grad():
            rows = self.model.generate(**batch, num_beams=beams, max_new_tokens=LONGEST)
        ended = [0 in row[1:].tolist() for row in rows]
        return [self.tokenizer.decode(row, skip_special_tokens=True) for row in rows], ended


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Imported]:
    made: dict[str, Imported] = {}

    def imported(kind: str) -> Imported:
        if kind not in made:
            folder = tmp_path_factory.mktemp("opus")
            import_model(write_opus_mt(folder / "opus", **KINDS[kind]), folder / "run")
            made[kind] = Imported(folder / "opus", folder / "run")
        return made[kind]

    return imported


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_theirs(kind: str, make: Callable[[str], Imported]) -> None:
    both = make(kind)
    codec = both.ours.run.source_codec
    for line in LINES:
        ids = [both.rows[i] for i in codec.encode(line)]
        assert ids == both.tokenizer(line).input_ids[:-1], line


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_theirs(kind: str, make: Callable[[str], Imported]) -> None:
    """In float64, but for the sinusoids: the largest differ by what single products are rounded by."""
    both = make(kind)
    codec = both.ours.run.source_codec
    ours_double, theirs_double = deepcopy(both.ours.run.model).double(), deepcopy(both.model).double()
    source, mask = pad_sources([codec.encode(line) for line in LINES[:40]], torch.device("cpu"))
    target = torch.randint(3, len(both.rows), (40, 7), generator=torch.Generator().manual_seed(1))
    rows = torch.tensor(both.rows)

    def logits(column: Tensor) -> Tensor:
        with torch.no_grad():
            return ours_double(source, mask, torch.cat((column, target), dim=1))

    ours = logits(torch.ones(40, 1, dtype=torch.long))
    with torch.no_grad():
        theirs = theirs_double(
            input_ids=rows[source],
            attention_mask=mask.long(),
            decoder_input_ids=torch.cat((torch.full((40, 1), both.pad), rows[target]), dim=1),
        ).logits
    others = [i for i in range(len(both.rows)) if i != 1]  # all but our own start mark
    assert theirs.std() > 0.5
    torch.testing.assert_close(ours[..., others], theirs[..., rows[others]], rtol=0, atol=1e-4)
    assert ours.softmax(-1)[..., 1].max() < 1e-30


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beams", [1, 4])
def test_outputs_are_theirs(kind: str, beams: int, make: Callable[[str], Imported]) -> None:
    """Theirs go on until no beam is better than the worst they keep, as ours do where all beams are asked for. At the
    limit they prefer an output that has not ended to one that has, where it scores better: those are left out."""
    both = make(kind)
    theirs, ended = both.generate(LINES, beams)
    ours = both.ours.translate(LINES, beams=beams, n_best=beams, max_tokens=LONGEST)
    compared = [row for row in range(len(LINES)) if ended[row] != ours[row].truncated]
    least = {"one vocabulary": 150, "two vocabularies": 200, "unscaled relu": 10}[kind] if beams > 1 else len(LINES)
    assert len(compared) >= least and len({theirs[row] for row in compared}) >= 3
    assert [ours[row].text for row in compared] == [theirs[row] for row in compared]


@pytest.mark.parametrize("kind", KINDS)
def test_ctranslate2_writes_the_same(kind: str, make: Callable[[str], Imported]) -> None:
    pytest.importorskip("ctranslate2", reason="the extra [fast] is not installed")
    both = make(kind)
    fast = load(both.run, threads=1, engine="ctranslate2")
    ours, theirs = (model.translate(LINES, beams=1, max_tokens=20) for model in (both.ours, fast))
    assert [result.text for result in theirs] == [result.text for result in ours]


def test_exported_it_writes_the_same_with_sentencepiece_alone(make: Callable[[str], Imported], tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra [fast] is not installed")
    import sentencepiece

    both = make("two vocabularies")
    export_run(both.run, "ctranslate2", tmp_path / "folder")
    source, target = (
        sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "folder" / f"{side}.spm"))
        for side in ("source", "target")
    )
    pieces = source.encode(LINES[:40], out_type=str)
    engine = ctranslate2.Translator(str(tmp_path / "folder"), "cpu", intra_threads=1)
    found = engine.translate_batch(pieces, beam_size=1, max_decoding_length=LONGEST)
    ours = [result.text for result in both.ours.translate(LINES[:40], beams=1, max_tokens=LONGEST)]
    assert [target.decode_pieces(result.hypotheses[0]) for result in found] == ours


def test_what_is_known_of_it_is_kept(make: Callable[[str], Imported]) -> None:
    both = make("one vocabulary")
    origin = both.ours.run.facts["origin"]
    assert origin == {"name": "opus", "format": "opus-mt", "licence": "cc-by-4.0", "source": "en", "target": "fr"}
    assert both.ours.run.plan.search.beams == 4 and both.ours.run.plan.data.source_language == "en"
    assert both.ours.run.plan.model.start == "zero" and both.ours.run.plan.model.tied_embeddings


def test_what_it_cannot_take_is_refused(tmp_path: Path) -> None:
    folder = write_opus_mt(tmp_path / "opus")

    def refused(match: str) -> None:
        with pytest.raises(UserError, match=match):
            import_model(folder, tmp_path / "run")
        assert not (tmp_path / "run").exists()

    weights = folder / "model.safetensors"
    config = json.loads((folder / "config.json").read_text())
    for change, match in (
        ({"model_type": "t5"}, "type 't5'; opus-mt takes 'marian'"),
        ({"activation_function": "mish"}, "activation_function 'mish'"),
        ({"decoder_attention_heads": 2}, "differ in heads"),
        ({"encoder_layers": 3}, "its weights lack 'model.encoder.layers.2"),
        ({"encoder_ffn_dim": 40, "decoder_ffn_dim": 40}, "config does not fit its weights"),
    ):
        (folder / "config.json").write_text(json.dumps({**config, **change}))
        if "d_model" in change:
            with pytest.raises((UserError, IndexError)):
                import_model(folder, tmp_path / "run")
            continue
        refused(match)
    (folder / "config.json").write_text(json.dumps(config))
    shutil.move(weights, folder / "pytorch_model.bin")
    refused(r"is pickled.*save_file.*torch\.load")
    (folder / "source.spm").unlink()
    shutil.move(folder / "pytorch_model.bin", weights)
    refused(r"source\.spm cannot be read")
