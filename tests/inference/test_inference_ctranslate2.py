"""CTranslate2 decodes our weights: greedy as torch does, beams at least as well; what it cannot take goes to torch."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from regard import load, train
from regard.cli import app
from regard.config import SearchSettings, plan_model, settle
from regard.data.lexicon import Lexicon
from regard.data.tokenizer import EOS
from regard.inference import beam, decode
from regard.inference.ctranslate2.conversion import MAPPED, MARK, VOCABULARY_MAP, built_model, why_not
from regard.models.build import build_model

ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra [fast] is not installed")
VOCABULARY = 23
GENERATOR = torch.Generator().manual_seed(1)
SOURCES = [torch.randint(3, VOCABULARY, (1 + i % 9,), generator=GENERATOR).tolist() for i in range(40)]


def model_of(seed: int = 1, **fields):
    """Random weights, and an end so probable that most outputs come to it."""
    tree = {"preset": "transformer", "width": 32, "depth": 2, "heads": 4, "dropout": 0.1, **fields}
    config = plan_model(settle({"model": tree}).model)
    model = build_model(config, VOCABULARY, VOCABULARY, True, seed=seed).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(seed)))
        model.output_layer.bias[:2] -= 99  # a trained model never writes marks
        while sum(found[0].finished for found in decode(model, SOURCES, SearchSettings(beams=1))) < 30:
            model.output_layer.bias[2] += 1
    return model, config


def fast(model, config, folder: Path, threads: int = 1):
    from regard.inference.ctranslate2.decoder import FastDecoder

    return FastDecoder(model, config, folder, "float32", threads)


def in_order(engine, sources, search: SearchSettings, progress=None) -> list:
    found = list(engine.decode(sources, search, progress))
    assert sorted(row for row, _ in found) == list(range(len(sources)))  # each one once
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"norm": "post"},
        {"positions": "learned"},
        {"positions": "rotary"},
        {"positions": "rotary", "norm": "post"},
        {"positions": "none"},
        {"activation": "gelu", "tied_embeddings": False},
        {"activation": "silu", "attention_bias": True, "start": "zero", "norm": "post"},
        {"encoder_depth": 3, "decoder_depth": 1},
        {"encoder_width": 16},
    ],
    ids=str,
)
def test_greedy_is_torchs(fields, tmp_path: Path) -> None:
    model, config = model_of(**fields)
    search = SearchSettings(beams=1)
    found = in_order(fast(model, config, tmp_path), SOURCES, search)
    expected = decode(model, SOURCES, search)
    taken = [row for row, each in enumerate(found) if each is not None]
    assert len(taken) >= 10
    for row in taken:
        assert found[row][0].tokens == expected[row][0].tokens
        assert found[row][0].score == pytest.approx(expected[row][0].score, abs=1e-4)
        assert found[row][0].log_prob == pytest.approx(expected[row][0].log_prob, abs=1e-3)


@pytest.mark.parametrize(("beams", "enough"), [(2, 3), (3, 5), (5, 8)])
def test_beams_are_torchs_but_for_their_end(
    beams: int, enough: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search of torch's that stopped where CTranslate2 does, at so many finished hypotheses, would find the same."""
    search = SearchSettings(beams=beams)
    monkeypatch.setattr(beam, "_done", lambda at, _: (at.ended >= enough) | (at.limit <= at.tokens.shape[-1]))
    for seed in range(3):
        model, config = model_of(seed)
        found, expected = in_order(fast(model, config, tmp_path), SOURCES, search), decode(model, SOURCES, search)
        taken = [row for row, each in enumerate(found) if each is not None]
        assert len(taken) >= 10
        assert all(found[row][0].tokens == expected[row][0].tokens for row in taken)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = {
        "data": {"corpus": "reverse", "lengths": "1-6", "examples": 4000, "dev_examples": 50, "test_examples": 100},
        "model": {"preset": "transformer", "width": 32, "depth": 1, "dropout": 0.0},
        "training": {"steps": 150, "batch_tokens": 512, "rate": 5e-3, "evaluate_every": 150, "threads": 1},
    }
    path = tmp_path_factory.mktemp("fast") / "run"
    train(settings, path, progress=False)
    return path


def test_the_same_door_and_the_same_outputs(run: Path) -> None:
    slow, quick = load(run, threads=1), load(run, threads=1, engine="ctranslate2")
    texts = [*(example.source for example in slow.run.examples("test")), "", "  "]
    for ours, theirs in zip(quick.translate(texts, beams=1), slow.translate(texts, beams=1), strict=True):
        assert (ours.text, ours.finished, ours.problem) == (theirs.text, theirs.finished, theirs.problem)
    both = [model.translate(texts[:100], beams=5, n_best=2) for model in (quick, slow)]
    assert all(len(one.alternatives) == 2 for one in both[0])
    assert sum(ours.text == theirs.text for ours, theirs in zip(*both, strict=True)) >= 90  # they end in other ways
    sampled = [model.translate(texts[:10], sample=True) for model in (quick, slow)]
    assert [one.text for one in sampled[0]] == [one.text for one in sampled[1]]
    assert quick.translate("abc").attention().weights.shape[0] == 4


@pytest.mark.parametrize(
    ("lines", "asked", "taken"),
    [(31, "--beams 1", False), (32, "--beams 1", True), (32, "--beams 2", False), (32, "--beams 1 --sample", False)],
)
def test_many_lines_are_taken_unasked(
    run: Path, tmp_path: Path, lines: int, asked: str, taken: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without beams, where outputs are torch's."""
    copy = Path(shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns("ctranslate2-*")))
    text = tmp_path / "texts"
    text.write_text("\n".join(example.source for example in load(run).run.examples("test")[:lines]) + "\n")
    outputs = []
    for engine in ("auto", "torch"):
        with pytest.raises(SystemExit) as ended:
            app(["translate", str(copy), "--input", str(text), "--engine", engine, "--threads", "1", *asked.split()])
        assert ended.value.code == 0 and (copy / "ctranslate2-float32").exists() == taken
        outputs.append(capsys.readouterr().out.splitlines())
    assert len(outputs[0]) == lines and outputs[0] == outputs[1]


def test_what_does_not_end_is_cut_where_torch_cuts_it(tmp_path: Path) -> None:
    model, config = model_of()
    with torch.no_grad():
        model.output_layer.bias[2] -= 90
    engine, greedy = fast(model, config, tmp_path), SearchSettings(beams=1)
    found_here = in_order(engine, SOURCES[:9], greedy)
    for found, [expected] in zip(found_here, decode(model, SOURCES[:9], greedy), strict=True):
        assert found is not None and not expected.finished
        assert (found[0].tokens, found[0].finished) == (expected.tokens, False)
        assert found[0].score == pytest.approx(expected.score, abs=1e-4)
        assert found[0].log_prob == pytest.approx(expected.log_prob, abs=1e-2)
    assert (
        in_order(engine, SOURCES[:3], SearchSettings(beams=2)) == [None] * 3
    )  # beams rank what has ended first: torch's
    assert in_order(engine, [[], SOURCES[0], [3] * 2048], greedy)[::2] == [None, None]


def test_what_reaches_the_last_position_is_cut_there(tmp_path: Path) -> None:
    """Own limits are 52, 54, 56, 58, and then the last position: a cut output of 58 is read again with all of them."""
    model, config = model_of(positions="learned", max_positions=59)
    with torch.no_grad():
        model.output_layer.bias[2] -= 90
    engine, greedy = fast(model, config, tmp_path), SearchSettings(beams=1)
    for each, [expected] in zip(in_order(engine, SOURCES[:9], greedy), decode(model, SOURCES[:9], greedy), strict=True):
        assert each is not None and each[0].tokens == expected.tokens
        assert each[0].score == pytest.approx(expected.score, abs=1e-4)


@pytest.mark.parametrize("beams", [1, 3])
def test_many_batches_ahead_change_nothing(beams: int, tmp_path: Path) -> None:
    """More batches than are under way at a time, of two threads, against each source alone."""
    model, config = model_of()
    engine, search = fast(model, config, tmp_path, threads=2), SearchSettings(beams=beams, batch_tokens=24 * beams)
    sources, counts = [*SOURCES, [], *SOURCES[::-1]], []
    found = in_order(engine, sources, search, counts.append)
    assert sum(counts) == len(sources) - 1 and len(counts) > 12
    for source, each in zip(sources, found, strict=True):
        [alone] = in_order(engine, [source], search)
        assert (each is None) == (alone is None)
        if each is not None and alone is not None:
            assert [one.tokens for one in each] == [one.tokens for one in alone]
            assert each[0].score == pytest.approx(alone[0].score, abs=1e-4)


def test_who_leaves_early_leaves_the_engine_whole(tmp_path: Path) -> None:
    model, config = model_of()
    engine, search = fast(model, config, tmp_path, threads=2), SearchSettings(beams=1, batch_tokens=16)
    before = in_order(engine, SOURCES, search)
    for _ in range(3):
        first = next(engine.decode(SOURCES, search))
        assert first[1] == before[first[0]]
    assert in_order(engine, SOURCES, search) == before


def test_a_short_list_is_torchs(tmp_path: Path) -> None:
    from regard.inference.ctranslate2.decoder import FastDecoder

    model, config = model_of()
    lexicon = Lexicon(np.random.default_rng(1).integers(3, VOCABULARY, (VOCABULARY, 3)), np.asarray([EOS, 7]))
    engine = FastDecoder(model, config, tmp_path, "float32", 1, lexicon)
    plain = SearchSettings(beams=1)
    listed = plain.model_copy(update={"short_list": True})
    different = 0
    for source in SOURCES[:20]:
        [expected] = decode(model, [source], listed, lexicon=lexicon)
        [found] = in_order(engine, [source], listed)
        assert found is not None and found[0].tokens == expected[0].tokens
        assert found[0].score == pytest.approx(expected[0].score, abs=1e-4)
        [free] = in_order(engine, [source], plain)
        different += free is not None and free[0].tokens != found[0].tokens
    assert different > 0
    with torch.no_grad():
        model.output_layer.bias[2] -= 90  # nothing ends: what is shorter than the longest is searched for again, alone
    engine = FastDecoder(model, config, tmp_path, "float32", 1, lexicon)
    for source, found in zip(SOURCES[:5], in_order(engine, SOURCES[:5], listed), strict=True):
        [expected] = decode(model, [source], listed, lexicon=lexicon)
        if source != max(SOURCES[:5], key=len):
            assert found is not None and found[0].tokens == expected[0].tokens
            assert found[0].score == pytest.approx(expected[0].score, abs=1e-4)


def test_the_map_of_a_short_list_is_not_wider_for_a_wider_lexicon(tmp_path: Path) -> None:
    model, config = model_of()
    likely = np.tile(np.arange(3, 3 + 2 * MAPPED, dtype=np.int32), (VOCABULARY, 1))
    lexicon = Lexicon(likely, np.asarray([EOS], dtype=np.int32))
    lines = (built_model(model, config, tmp_path, "float32", lexicon) / VOCABULARY_MAP).read_text().splitlines()
    assert lines[:2] == ["\t2", "0\t" + " ".join(map(str, range(3, 3 + MAPPED)))]


def test_built_once_and_again_when_the_weights_change(tmp_path: Path) -> None:
    model, config = model_of()
    place = built_model(model, config, tmp_path, "float32")
    before = (place / "model.bin").stat().st_mtime_ns
    assert built_model(model, config, tmp_path, "float32") == place
    assert (place / "model.bin").stat().st_mtime_ns == before
    mark = (place / MARK).read_text(encoding="utf-8")
    model.output_layer.bias.data += 1
    built_model(model, config, tmp_path, "float32")
    assert (place / MARK).read_text(encoding="utf-8") != mark
    assert built_model(model, config, tmp_path, "int8") != place
    mark = (place / MARK).read_text(encoding="utf-8")
    built_model(model, config.model_copy(update={"activation": "gelu"}), tmp_path, "float32")
    assert (place / MARK).read_text(encoding="utf-8") != mark
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ctranslate2-float32", "ctranslate2-int8"]


def test_a_damaged_model_is_built_again(tmp_path: Path) -> None:
    model, config = model_of()
    place = built_model(model, config, tmp_path, "float32")
    (place / "model.bin").write_bytes((place / "model.bin").read_bytes()[:1000])
    assert any(found is not None for found in in_order(fast(model, config, tmp_path), SOURCES, SearchSettings(beams=1)))


@pytest.mark.parametrize(
    ("fields", "word"),
    [({"positions": "alibi"}, "positions"), ({"head_layout": "full"}, "head_layout"), ({"norm": "none"}, "norm")],
)
def test_what_it_cannot_take_is_named(fields, word: str) -> None:
    config = plan_model(settle({"model": {"preset": "transformer", "width": 16, **fields}}).model)
    assert word in (why_not(config, build_model(config, 9, 9, True, 1)) or "")
    config = plan_model(settle({"model": {"preset": "lstm-additive", "width": 16}}).model)
    assert "Transformer" in (why_not(config, build_model(config, 9, 9, True, 1)) or "")


def test_it_leaves_torch_its_threads(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        engine = fast(*model_of(), tmp_path, threads=2)
        assert torch.get_num_threads() == 2
        in_order(engine, SOURCES, SearchSettings(beams=2))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
