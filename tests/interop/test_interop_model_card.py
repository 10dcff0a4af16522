"""Model cards: data, size, scores with signatures, limits, licence; and scores only of these weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from regard.checkpoint import load_run, read_facts, write_facts
from regard.cli import main
from regard.errors import UserError
from regard.interop.model_card import EVALUATION, model_card, read_evaluation


@pytest.fixture
def run(translator_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(translator_run, tmp_path / "copy"))


def test_a_card_tells_data_size_and_scores(run: Path) -> None:
    card = model_card(load_run(run), "open it")
    parameters = sum(parameter.numel() for parameter in load_run(run).model.parameters())
    for part in (
        "# copy",
        "```\nopen it\n```",
        "- pairs: 2,000 train, 20 dev, 20 test",
        f"{parameters:,}",
        "## Limits",
    ):
        assert part in card
    assert "On the development set, at the end of training: loss " in card


def test_scores_of_a_stored_evaluation_have_their_signatures(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run), "--save"]) == 0
    card = model_card(load_run(run), "open it")
    stored = json.loads((run / EVALUATION).read_text())
    bleu = stored["report"]["bleu"]
    assert f"- BLEU {bleu['value']:.2f} (`{bleu['signature']}`)" in card and "On the test set" in card
    assert "BLEU" in capsys.readouterr().out


def test_scores_of_other_weights_are_not_told(run: Path) -> None:
    assert main(["evaluate", str(run), "--save", "--split", "dev"]) == 0
    facts = read_facts(run)
    facts["results"]["step"] += 1
    write_facts(run, facts)
    assert read_evaluation(load_run(run)) is None
    (run / EVALUATION).write_text("{}")
    with pytest.raises(UserError, match=r"evaluation\.json is damaged"):
        read_evaluation(load_run(run))


def test_what_is_not_of_the_run_is_not_stored(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = run / "lines.txt"
    file.write_text("a\n")
    assert main(["evaluate", str(run), "--save", "--source", str(file), "--reference", str(file)]) == 2
    assert "--save stores the scores of one run on its own examples" in capsys.readouterr().err


def test_a_card_carries_the_licence_on(run: Path) -> None:
    facts = read_facts(run)
    write_facts(run, {**facts, "origin": {"name": "opus-mt-en-fr", "format": "opus-mt", "licence": "cc-by-4.0"}})
    card = model_card(load_run(run), "open it")
    assert 'license: "cc-by-4.0"' in card and "weights from: opus-mt-en-fr (opus-mt), licence cc-by-4.0" in card
