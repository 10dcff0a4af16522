"""Head ablation ranks what is lost, and counts sentences as greedy search would."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from regard.analysis.head_ablation import ablate_heads, ablated_parts, render
from regard.errors import UserError
from regard.nn.taps import watched
from regard.pipeline import load


def test_every_part_is_silenced_and_ranked(translator_run: Path) -> None:
    model = load(translator_run)
    examples = model.run.examples("dev")
    batches = model.batches(examples)
    report = ablate_heads(model.model, batches)
    parts = ablated_parts(model.model)
    assert len(parts) == 3 * 3 and {(row.attention, row.head) for row in report.rows} == set(parts)
    losses = [row.loss for row in report.rows]
    assert losses == sorted(losses, reverse=True) and losses[0] > report.whole.loss + 0.1
    assert report.rows[0].head is None  # all heads of an attention are missed more than one of them
    assert not watched() and report.as_dict()["rows"][0]["loss_rise"] == losses[0] - report.whole.loss
    assert "(nothing)" in render(report) and "all heads" in render(report)


def test_sentences_right_are_those_of_greedy_search(translator_run: Path) -> None:
    model = load(translator_run)
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.model.parameters():  # so that some are right and some wrong
            parameter += 0.03 * torch.randn_like(parameter)
    examples = model.run.examples("dev")
    outputs = model.translate([one.source for one in examples], beams=1)
    right = sum(output.text == one.target for output, one in zip(outputs, examples, strict=True))
    assert 0 < right < len(examples)
    assert model.teacher_forced(examples).sentence_accuracy == pytest.approx(100 * right / len(examples))


def test_a_model_without_attention_is_refused(language_run: Path) -> None:
    model = load(language_run)
    with pytest.raises(UserError, match="no attention"):
        ablate_heads(model.model, model.batches(model.run.examples("dev")[:2]))
