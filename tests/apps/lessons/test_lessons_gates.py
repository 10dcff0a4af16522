"""The gradient by distance on a recurrence whose answer is known; the task."""

from __future__ import annotations

import pytest
import torch

from regard.apps.lessons.gates import LETTERS, gradient_by_distance, questions
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


def test_the_answer_is_one_of_the_letters_to_keep() -> None:
    drawn = questions(200, longest=5)
    assert drawn == questions(200, longest=5) and {len(example.source) - 4 for example in drawn} == set(range(6))
    for example in drawn:
        assert example.target == example.source[int(example.source[-1]) - 1] and example.target in LETTERS
        assert not set(example.source[3:-1]) & set(LETTERS)
