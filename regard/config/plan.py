"""The Plan: what a run does. Every field of the settings has its value, and a word on who decided it.

A field is None only where a run may lack it: no limit of steps, no other width for one side, no run to start from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Never

from regard.config.data_settings import DataSettings
from regard.config.presets import preset_fields
from regard.config.section import Closed, Section
from regard.config.settings import ModelFields, ModelSettings, SearchSettings, TokenizerFields, TrainingFields
from regard.config.values import TokenizerKind


class TokenizerPlan(Closed, TokenizerFields[Never]):
    """How text becomes ids."""

    @property
    def kinds(self) -> tuple[TokenizerKind, TokenizerKind]:
        """Of sources and of targets."""
        return self.source_kind or self.kind, self.target_kind or self.kind


class ModelPlan(Closed, ModelFields[Never]):
    """An encoder, a decoder and what stands between them."""

    @property
    def widths(self) -> tuple[int, int]:
        """Of the encoder and of the decoder."""
        return self.encoder_width or self.width, self.decoder_width or self.width

    @property
    def depths(self) -> tuple[int, int]:
        """Layers of the encoder and of the decoder."""
        encoder = self.depth if self.encoder_depth is None else self.encoder_depth
        return encoder, self.decoder_depth or self.depth

    @property
    def has_recurrent_attention(self) -> bool:
        """A recurrent decoder attends to an encoder."""
        return self.decoder == "rnn" and self.encoder != "none" and self.context == "attention"

    @property
    def is_tagger(self) -> bool:
        """Every output of the encoder is labelled."""
        return self.decoder == "none" and self.pooling == "none"

    @property
    def is_transformer(self) -> bool:
        """It is a Transformer from end to end."""
        return self.encoder == self.decoder == "transformer"


class TrainingPlan(Closed, TrainingFields[Never]):
    """One run over token-budget batches."""


@dataclass(frozen=True)
class Plan:
    """Everything that a run does. `reasons`: by 'section.key', who decided the value, and why."""

    data: DataSettings
    tokenizer: TokenizerPlan
    model: ModelPlan
    training: TrainingPlan
    search: SearchSettings
    reasons: Mapping[str, str] = field(default_factory=dict, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as in recipe.toml, and the reasons."""
        tree = {name: section.model_dump(exclude_none=True) for name, section in self.sections()}
        return {**tree, "reasons": dict(self.reasons)}

    def sections(self) -> Iterator[tuple[str, Section]]:
        """Each section with its name."""
        for name in ("data", "tokenizer", "model", "training", "search"):
            yield name, getattr(self, name)


def plan_model(model: ModelSettings) -> ModelPlan:
    """The model without a corpus: what is set, beneath it the preset, and beneath that each field's plain value."""
    return ModelPlan.model_validate(model_fields(model))


def model_fields(model: ModelSettings) -> dict[str, Any]:
    """What is set, and the fields of the preset beneath it."""
    return {**({} if model.preset is None else preset_fields(model.preset)), **model.given()}
