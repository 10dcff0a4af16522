"""The gradient by distance on a recurrence whose answer is known, and how far a distance is bridged."""

from __future__ import annotations

import pytest
import torch

from regard.apps.lessons.gates import bridged, gradient_by_distance, strings
from regard.models.classifier import ClassifierModel
from regard.models.recurrent import RecurrentEncoder
from regard.nn.embedding import Embedding


def test_a_linear_recurrence_loses_the_same_share_at_every_step() -> None:
    width, share = 6, 0.5
    encoder = RecurrentEncoder(Embedding(9, width, 0.0), "rnn", "forward", width, 1, 0.0)
    model = ClassifierModel(encoder, "last", 4, 0.0, None)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or "embedding" in name:
                parameter.zero_()  # the state stays at 0, where tanh has slope 1
        for name, module in model.named_modules():
            if name.endswith("state_proj"):
                module.weight.copy_(share * torch.eye(width))
    shares = gradient_by_distance(model, torch.randint(9, (3, 8)), torch.tensor([0, 3, 1]))
    assert shares == pytest.approx([share**distance for distance in range(7)], rel=1e-5)


def test_a_distance_is_bridged_only_with_all_shorter_ones() -> None:
    assert bridged([(2, 100.0), (4, 95.0), (8, 40.0), (16, 99.0)]) == 4
    assert bridged([(2, 20.0), (4, 95.0)]) == 0
    assert bridged([(4, 90.0), (2, 91.0)]) == 4


def test_the_class_is_the_first_of_the_letters() -> None:
    drawn = strings(distance=5, count=50)
    assert all(len(example.source) == 6 and example.target == example.source[0] for example in drawn)
    assert drawn == strings(distance=5, count=50) and len({example.source for example in drawn}) > 40
