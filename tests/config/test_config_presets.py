"""The named architectures are valid, distinct, and only a starting point: every field can be set on top."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

import pytest

from regard.config import PRESETS, ModelPlan, plan_model, preset_fields, settle
from regard.config.values import IMAGE_ENCODERS
from regard.errors import UserError

ISSUE = (
    "rnn-language rnn-fixed rnn-fixed-every-step lstm-fixed gru-fixed lstm-additive lstm-dot lstm-scaled-dot "
    "lstm-bilinear lstm-projected lstm-cosine lstm-multihead attention-rnn convolution transformer "
    "transformer-deep-shallow marian transformer-language transformer-classifier lstm-classifier "
    "transformer-tagger lstm-tagger image-classifier image-fixed image-lstm "
    "image-grid-transformer image-transformer"
)


def test_the_presets_are_those_of_the_lectures_and_marian() -> None:
    assert " ".join(PRESETS) == ISSUE


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_valid_and_described_in_a_line(preset: str) -> None:
    model = plan_model(settle({"model": {"preset": preset}}).model)
    assert model.preset == preset
    assert all(getattr(model, key) == value for key, value in PRESETS[preset].fields.items())
    assert PRESETS[preset].about and "\n" not in PRESETS[preset].about


def test_no_two_presets_are_the_same() -> None:
    models = [plan_model(settle({"model": {"preset": name}}).model).model_dump(exclude={"preset"}) for name in PRESETS]
    assert all(one != two for i, one in enumerate(models) for two in models[:i])


def other_values(key: str, now: Any) -> list[Any]:
    """Values of a field that differ from the present one."""
    if key == "pooling":
        return [value for value in ("first", "none", 2) if value != now]
    annotation = ModelPlan.model_fields[key].annotation
    if get_origin(annotation) is Literal:
        return [value for value in get_args(annotation) if value != now]
    return {bool: [not now], str: ["other"]}.get(type(now), [8 if now != 8 else 16])


FIELDS = [name for name in ModelPlan.model_fields if name != "preset"]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("key", FIELDS)
def test_every_field_of_a_preset_can_be_set(preset: str, key: str) -> None:
    """It takes effect and leaves the rest alone, or is refused because it contradicts a field that is named."""
    before = plan_model(settle({"model": {"preset": preset}}).model)
    now, taken = getattr(before, key), 0
    shares = {"dropout", "attention_dropout", "ffn_dropout", "augment"}
    for value in [0.25] if key in shares else other_values(key, now):
        try:
            after = plan_model(settle({"model": {"preset": preset, key: value}}).model)
        except UserError as error:
            assert key in str(error) or key.removesuffix("_width") in str(error)
            continue
        taken += 1
        assert after.model_dump() == {**before.model_dump(), key: value}
    parts = {  # a switch, and whether this architecture has what it switches
        "query": before.has_recurrent_attention,
        "weighting": before.has_recurrent_attention and before.score != "multi-head",
        "residuals": bool({before.encoder, before.decoder} & {"transformer", "convolution", "patches"}),
        "projections": bool({before.encoder, before.decoder} & {"transformer", "patches"}),
        "pointer": "none" not in (before.encoder, before.decoder) and before.encoder not in IMAGE_ENCODERS,
        "first_state": before.encoder == "rnn" or (before.encoder == "none" and before.decoder == "rnn"),
    }
    unasked = not parts.get(key, True)
    assert taken or unasked or key in ("encoder", "position_combine") or (key, preset) in ONLY


ONLY = {  # where a field has one meaning alone
    ("encoder_width", "lstm-dot"),
    ("encoder_width", "lstm-scaled-dot"),
    ("encoder_width", "lstm-cosine"),
    ("decoder_width", "lstm-dot"),
    ("decoder_width", "lstm-scaled-dot"),
    ("decoder_width", "lstm-cosine"),
}


def test_fields_of_an_unknown_preset() -> None:
    with pytest.raises(UserError, match="did you mean 'lstm-dot'"):
        preset_fields("lstm-dott")
