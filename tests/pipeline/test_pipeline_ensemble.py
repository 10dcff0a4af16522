"""Ensembles of runs, from Python and by commands, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import regard
from regard.cli import main

COPY = {"corpus": "copy", "lengths": "1-4", "examples": 2000}


@pytest.fixture(scope="module")
def second_run(tiny_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another family, which knows little, on the data of translator_run."""
    return tiny_run(tmp_path_factory.mktemp("second") / "run", "lstm-additive", COPY)


def test_its_probabilities_are_the_mean_of_theirs(translator_run: Path, second_run: Path) -> None:
    one, two = (regard.load(path, threads=1) for path in (translator_run, second_run))
    both = regard.load(translator_run, threads=1, ensemble=second_run)
    text = one.run.examples("test")[0].source
    result = both.translate(text, beams=1)
    ids = both.run.target_codec.encode(result.text)
    target_in = torch.tensor([[1, *ids]])
    source = torch.tensor([[*both.source_codec.encode(text), 2]])
    inputs = (source, torch.ones_like(source, dtype=torch.bool), target_in)
    with torch.inference_mode():
        mean = (one.model(*inputs).softmax(-1) + two.model(*inputs).softmax(-1)) / 2
    log_prob = mean[0].log().gather(1, torch.tensor([[*ids, 2]]).T).sum().item()
    assert result.log_prob == pytest.approx(log_prob, abs=1e-4)
    assert result.log_prob != pytest.approx(one.translate(text, beams=1).log_prob, abs=1e-3)


def test_it_is_measured_whole_and_looked_into_by_its_first(translator_run: Path, second_run: Path) -> None:
    one = regard.load(translator_run, threads=1)
    both = regard.load(translator_run, threads=1, ensemble=[second_run])
    examples, search = one.run.examples("test"), one.search
    alone, together = one.evaluate(examples, search).forced, both.evaluate(examples, search).forced
    assert alone is not None and together is not None and together.loss != pytest.approx(alone.loss, abs=1e-3)
    result = both.translate(examples[0].source)
    assert result.trace().attentions == one.trace(examples[0].source, result.text).attentions
    assert both.trace("ab", "ab").maps == one.trace("ab", "ab").maps
    with pytest.raises(regard.UserError, match="an ensemble has no heads of its own"):
        both.without("decoder.layers.0.cross_attention")
    text = examples[1].source
    best = both.beam_tree(text, both.search_with(beams=3)).best
    assert both.run.target_codec.decode(best) == both.translate(text, beams=3).text


def test_commands(translator_run: Path, second_run: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    both = ["--ensemble", str(second_run)]
    expected = regard.load(translator_run, threads=1, ensemble=[second_run]).translate("ab", beams=2).text
    assert main(["translate", str(translator_run), "ab", *both, "--beams", "2", "--threads", "1"]) == 0
    assert capsys.readouterr().out.strip() == expected
    links = tmp_path / "links"
    assert main(["translate", str(translator_run), "ab", *both, "--alignments", str(links)]) == 0
    assert links.read_text(encoding="utf-8").strip()
    assert main(["evaluate", str(translator_run), *both, "--threads", "1"]) == 0
    whole = capsys.readouterr().out
    assert main(["evaluate", str(translator_run), "--threads", "1"]) == 0
    assert whole != capsys.readouterr().out


def test_what_does_not_fit_is_refused(
    translator_run: Path,
    second_run: Path,
    classifier_run: Path,
    tiny_run: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    few = {"steps": 2}
    others = tiny_run(tmp_path / "dates", "transformer", {"corpus": "dates"}, training=few)
    backwards = tiny_run(tmp_path / "reverse", "transformer", {**COPY, "corpus": "reverse"}, training=few)
    for path, words in [
        (classifier_run, "only translators form an ensemble"),
        (others, "into different tokens"),
        (backwards, "was trained on other pairs"),
        (translator_run, "in the ensemble already"),
        (tmp_path / "nothing", "not a directory"),
    ]:
        assert main(["translate", str(translator_run), "ab", "--ensemble", str(path)]) == 2
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert words in line and str(path) in line
    pair = ["--ensemble", str(second_run), "--engine", "ctranslate2"]
    assert main(["translate", str(translator_run), "ab", *pair]) == 2
    assert "--engine ctranslate2 runs one model alone" in capsys.readouterr().err
    assert main(["evaluate", str(translator_run), *pair[:2], "--alignments", "corpus"]) == 2
    assert "no ensemble" in capsys.readouterr().err
