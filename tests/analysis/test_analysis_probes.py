"""Probes find what is linearly there, and say when it is not."""

from __future__ import annotations

import pytest
import torch

from regard.analysis.probes import fit, probe_positions, probe_tags, render
from regard.analysis.trace import Trace
from regard.data.tagged import Tagged

WIDTH, LENGTH = 12, 5


def traces(count: int, positions: bool, seed: int = 0) -> list[Trace]:
    """Sentences of random words; states are noise, with or without a one-hot position on top."""
    generator = torch.Generator().manual_seed(seed)
    made = []
    for _ in range(count):
        states = torch.randn(1, LENGTH, WIDTH, generator=generator)
        if positions:
            states[0, :, :LENGTH] += 8 * torch.eye(LENGTH)
        words = tuple(f" w{int(i)}" for i in torch.randint(50, (LENGTH - 1,), generator=generator))
        made.append(Trace({"encoder.layers.0.states": states}, (*words, "</s>"), (), ()))
    return made


def test_positions_that_are_there_are_found_and_others_are_not() -> None:
    report = probe_positions(traces(100, positions=True), traces(100, positions=False))
    (row,) = report.rows
    assert (report.classes, report.tokens) == (LENGTH, 100 * LENGTH)
    assert row.accuracy > 98 and row.distance is not None and row.distance < 0.1
    assert row.majority == pytest.approx(20)
    assert row.random_weights < 40  # chance is 20
    assert row.control < 50 and row.selectivity > 50
    assert "encoder.layers.0" in render(report) and "selectivity" in render(report)


def test_tags_of_words() -> None:
    """The tag is the sign of the first feature of a word's last token."""
    sentences = traces(80, positions=False)
    tagged = []
    for trace in sentences:
        signs = trace.tensors["encoder.layers.0.states"][0, :-1, 0] > 0
        words = tuple(token.strip() for token in trace.source_tokens[:-1])
        tagged.append(Tagged(words, tuple("plus" if sign else "minus" for sign in signs)))
    (row,) = probe_tags(sentences, traces(80, positions=False, seed=9), tagged).rows
    assert row.accuracy > 90 and row.random_weights < 70 and row.distance is None


def test_fit_is_a_minimum() -> None:
    torch.manual_seed(0)
    states, labels = torch.randn(60, 4), torch.randint(3, (60,))
    weights = fit(states, labels, 3).requires_grad_()
    inputs = torch.cat((states, torch.ones(60, 1)), dim=1)
    loss = torch.nn.functional.cross_entropy(inputs @ weights, labels) + 1e-3 * weights.square().sum()
    (gradient,) = torch.autograd.grad(loss, weights)
    assert gradient.abs().max() < 1e-3
