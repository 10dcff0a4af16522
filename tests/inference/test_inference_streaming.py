"""A stream ends in what the search finds, token by token, for every family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from regard.config import PRESETS, SearchSettings
from regard.inference.batching import decode
from regard.inference.streaming import stream

WRITERS = [name for name in PRESETS if not name.endswith("classifier") and not name.startswith("image-")]
SOURCE = [5, 3, 4, 8, 7]


@pytest.mark.parametrize("preset", [*WRITERS, "ensemble"])
@pytest.mark.parametrize("prefix", [(), (7, 8)])
def test_a_stream_grows_into_the_greedy_output(tiny: Callable[..., Any], preset: str, prefix: tuple[int, ...]) -> None:
    config = SearchSettings(beams=1, max_tokens=9)
    model = tiny(preset, shared=preset.endswith("language"))
    grown = list(stream(model, SOURCE, config, prefix))
    (expected,) = decode(model, [SOURCE], config, [prefix])[0]  # type: ignore[misc]
    assert grown[-1].tokens == expected.tokens and grown[-1].finished == expected.finished
    assert grown[-1].log_prob == pytest.approx(expected.log_prob, abs=1e-5)
    assert [len(part.token_log_probs) for part in grown] == list(range(1, len(grown) + 1))
    assert all(expected.tokens[: len(part.tokens)] == part.tokens for part in grown)


def test_a_streamed_sample_is_the_sample_of_the_search(tiny: Callable[..., Any]) -> None:
    model, found = tiny("transformer"), set()
    for seed in range(5):
        config = SearchSettings(sample=True, temperature=2.0, seed=seed, max_tokens=9)
        *_, last = stream(model, SOURCE, config)
        assert last.tokens == decode(model, [SOURCE], config)[0][0].tokens  # type: ignore[index]
        found.add(last.tokens)
    assert len(found) > 1


def test_between_two_tokens_the_caller_has_gradients(tiny: Callable[..., Any]) -> None:
    parts = stream(tiny("transformer"), SOURCE, SearchSettings(beams=1, max_tokens=5))
    next(parts)
    assert not torch.is_inference_mode_enabled()
    parts.close()  # and a stream may be left
