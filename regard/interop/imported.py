"""What another program's model is to us: an ordinary run, that can be used and trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.checkpoint import MODEL, start_run
from regard.config import DataSettings, ModelPlan, Plan, SearchSettings, TokenizerPlan, TrainingPlan
from regard.data.codecs import same_vocabulary
from regard.data.sentencepiece import SentencePieceTokenizer
from regard.errors import UserError
from regard.interop.places import new_folder
from regard.models.build import build_model
from regard.models.seq2seq import Model
from regard.weights import weights_of, write_tensors

RATE = 5e-5  # of a training plan that is never used: training on has a plan of its own


@dataclass(frozen=True)
class Origin:
    """Where weights come from, as the source states it."""

    name: str
    format: str
    licence: str | None
    languages: tuple[str | None, str | None]

    def as_dict(self) -> dict[str, Any]:
        source, target = self.languages
        facts = {"name": self.name, "format": self.format, "licence": self.licence or "not stated"}
        return facts | {key: value for key, value in (("source", source), ("target", target)) if value}


@dataclass(frozen=True)
class ImportedModel:
    """All of a run but the folder. `weights`: by the names of the model's state, a tied table under each name."""

    model: ModelPlan
    source: SentencePieceTokenizer
    target: SentencePieceTokenizer
    weights: Mapping[str, Tensor]
    search: SearchSettings
    origin: Origin

    def write(self, out: Path) -> Model:
        """As a run; what is written is the model returned."""
        shared = same_vocabulary(self.source, self.target)
        model = build_model(self.model, self.source.size, self.target.size, shared, seed=1)
        load_state(model, self.weights, self.origin.name)
        tokenizer = {"kind": "sentencepiece", "size": max(self.source.size, self.target.size), "shared": shared}
        plan = Plan(
            _data(self.origin),
            TokenizerPlan.model_validate(tokenizer),
            self.model,
            TrainingPlan.model_validate({"rate": RATE}),
            self.search,
            {"model": f"as in {self.origin.name}"},
        )
        facts = {
            "task": "translation",
            "status": "imported",
            "corpus": self.origin.name,
            "pairs": {},
            "source_size": self.source.size,
            "target_size": self.target.size,
            "shared": shared,
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "origin": self.origin.as_dict(),
        }
        with new_folder(out) as folder:
            start_run(folder, plan, self.source, self.target, {"dev": [], "test": []}, facts)
            write_tensors(folder / MODEL, weights_of(model))
        return model


@torch.no_grad()
def load_state(model: Model, weights: Mapping[str, Tensor], where: str) -> None:
    """Copy every tensor of the model's state; each must be there, with its shape."""
    state = model.state_dict()
    for name in {*state, *weights}:
        if name not in state or name not in weights or state[name].shape != weights[name].shape:
            found, expected = (tuple(each[name].shape) if name in each else "nothing" for each in (weights, state))
            raise UserError(
                f"{where}: {name} is {found} where {expected} is needed; its config does not fit its weights"
            )
    for name, tensor in state.items():
        tensor.copy_(weights[name])


def _data(origin: Origin) -> DataSettings:
    source, target = origin.languages
    languages = {"source_language": source, "target_language": target}
    return DataSettings.model_validate({key: value for key, value in languages.items() if value})
