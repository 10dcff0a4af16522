"""Which settings a run goes on with: those it began with, but for how long it trains and where its data stand."""

from __future__ import annotations

from typing import Any

from regard.config import ModelSettings, Settings, TrainingSettings
from regard.config.settings import Section
from regard.errors import UserError
from regard.training.optimizer import SIZE

# what it meant that a setting was missing
BEFORE = {"microbatches": 1, "optimizer": "adam", "weight_decay": 0.0}
EXTENDABLE = {"steps", "epochs", "minutes", "patience", "threads", "processes"}  # of training, on --resume
FILES = {f"{split}{kind}" for split in ("", "dev_", "test_") for kind in ("source", "target", "pairs")}
PLACES = FILES | {"corpus", "images"}


def continued(given: Settings, stored: Settings) -> Settings:
    """The run's settings with what may change on --resume; any other setting that differs is refused by name."""
    sections: dict[str, Any] = {}
    for section in Settings.model_fields:
        new, old = getattr(given, section), getattr(stored, section)
        values = {key: getattr(new, key) for key in sorted(new.model_fields_set)}
        changes = {key: value for key, value in values.items() if value is not None and value != _began(old, key)}
        free = {"training": EXTENDABLE, "data": PLACES, "search": set(changes)}.get(section, set())
        for key in sorted(changes.keys() - free):
            raise UserError(
                f"{section}.{key} = {changes[key]!r}, but the run began with {_began(old, key)!r}; "
                "resume without it, or train into another directory"
            )
        sections[section] = old.model_copy(update=changes)
    return Settings(**sections)


def _began(section: Section, key: str) -> Any:
    """A setting of a stored run; one that is older than the setting did what was done before."""
    value = getattr(section, key)
    if value is not None:
        return value
    if isinstance(section, ModelSettings) and key == "ffn_dropout":
        return section.dropout
    if isinstance(section, TrainingSettings) and key == "muon_size":
        return SIZE if section.optimizer == "muon" else None
    return BEFORE.get(key)
