"""Settings: the typed tree, the presets, and how files and flags become one configuration. Imports no torch."""

from regard.config.load import Tree, merge, near, preset_fields, read_recipe, recipe_text, settle, shipped_recipes
from regard.config.presets import PRESETS, Preset
from regard.config.settings import (
    DataSettings,
    ModelSettings,
    SearchSettings,
    Settings,
    TokenizerSettings,
    TrainingSettings,
)

__all__ = [
    "PRESETS",
    "DataSettings",
    "ModelSettings",
    "Preset",
    "SearchSettings",
    "Settings",
    "TokenizerSettings",
    "TrainingSettings",
    "Tree",
    "merge",
    "near",
    "preset_fields",
    "read_recipe",
    "recipe_text",
    "settle",
    "shipped_recipes",
]
