"""With which settings a run is resumed: those it began with, but for how long it trains and where its data stand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from regard.config import Plan, Settings
from regard.config.check import check
from regard.errors import UserError

EXTENDABLE = {"steps", "epochs", "minutes", "patience", "threads", "processes"}  # of training, on --resume
FILES = {f"{split}{kind}" for split in ("", "dev_", "test_") for kind in ("source", "target", "pairs")}
PATHS = FILES | {"corpus", "images"}
LANGUAGES = {"source_language", "target_language"}


def extend_plan(settings: Settings, stored: Plan) -> Plan:
    """The run's plan with what may change on --resume; any other setting that differs is refused by name."""
    sections: dict[str, Any] = {}
    reasons = dict(stored.reasons)
    for name, section in stored.sections():
        values = getattr(settings, name).given()
        changes = {key: value for key, value in values.items() if value != getattr(section, key)}
        free = {"training": EXTENDABLE, "data": PATHS | LANGUAGES, "search": set(changes)}.get(name, set())
        for key in sorted(changes.keys() - free):
            raise UserError(
                f"{name}.{key} = {changes[key]!r}, but the run began with {getattr(section, key)!r}; "
                "resume without it, or train into another directory"
            )
        sections[name] = section.model_copy(update=changes)
        reasons |= {f"{name}.{key}": "user" for key in changes}
    plan = replace(stored, **sections, reasons=reasons)
    check(plan)
    return plan
