"""Difference quotients on functions whose error is known, and that no brick is forgotten."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest
import torch
from torch import nn

import regard.nn
from regard.apps.lessons.bricks import Brick, bricks
from regard.apps.lessons.gradients import CENTRAL, FALLING, FORWARD, best, depth, errors, slope, wrong_brick
from regard.nn.layers import Layers
from regard.nn.taps import Tap


def test_no_brick_is_forgotten() -> None:
    layers = set()
    for module in pkgutil.iter_modules(regard.nn.__path__, "regard.nn."):
        for _, cls in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if cls.__module__ == module.name and issubclass(cls, nn.Module) and not inspect.isabstract(cls):
                layers.add(cls)
    differentiated = {type(part) for brick in bricks(1) for part in brick.module.modules()}
    assert layers - differentiated == {Tap, Layers} - differentiated


def test_each_leaf_of_each_brick_matters_and_is_restored() -> None:
    for brick in bricks(2):
        before = [leaf.detach().clone() for leaf in brick.leaves]
        gradients = torch.autograd.grad(brick.outputs().square().sum(), brick.leaves)
        assert all(bool(gradient.any()) for gradient in gradients), brick.name
        errors(brick, 1, 1)
        assert all(torch.equal(leaf, old) for leaf, old in zip(brick.leaves, before, strict=True))


def test_the_error_of_a_cubic() -> None:
    x = torch.tensor([0.7], dtype=torch.float64, requires_grad=True)
    curves = errors(Brick("x³", nn.Identity(), lambda x: x**3, (x,)), 1, 1)
    for formula, order in ((FORWARD, 1), (CENTRAL, 2)):
        assert slope(curves[formula], *FALLING[formula]) == pytest.approx(order, abs=0.05)
        assert best(curves[formula])[0] < 1e-6 and depth(curves[formula]) > 2


def test_a_wrong_derivative_has_no_limit() -> None:
    curves = errors(wrong_brick(1), 1, 2)
    assert min(best(curves[FORWARD])[0], best(curves[CENTRAL])[0]) > 0.01
