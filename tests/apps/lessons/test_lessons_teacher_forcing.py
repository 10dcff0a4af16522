"""The two ways of training behind the lesson on teacher forcing."""

from __future__ import annotations

import pytest
import torch

from regard.apps.lessons.teacher_forcing import (
    MODES,
    PRESETS,
    all_at_once,
    calls_in_series,
    language_model,
    token_by_token,
)

TARGET = torch.randint(4, 50, (2, 7), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", PRESETS)
def test_true_tokens_give_the_same_either_way_and_own_tokens_do_not(name: str) -> None:
    model = language_model(name, 16, seed=1)
    forced = all_at_once(model, TARGET)
    assert torch.allclose(forced, token_by_token(model, TARGET, true=True), atol=1e-5)
    own = token_by_token(model, TARGET)
    assert torch.allclose(forced[:, 0], own[:, 0], atol=1e-5) and not torch.allclose(forced, own, atol=1e-3)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_only_a_forced_transformer_is_called_once(mode) -> None:
    calls = calls_in_series(mode, language_model(mode.model, 16, seed=1), TARGET)
    assert calls == (1 if mode.name == "Transformer" else 7)
