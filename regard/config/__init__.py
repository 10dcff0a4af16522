"""What a user writes (Settings), what a run does (Plan), the presets, and recipes in files. Imports no torch."""

from regard.config.data_settings import DataSettings
from regard.config.load import Tree, merge, parse_plan, read_recipe, recipe_text, settle, shipped_recipes
from regard.config.plan import ModelPlan, Plan, TokenizerPlan, TrainingPlan, model_fields, plan_model
from regard.config.presets import PRESETS, Preset, preset_fields
from regard.config.settings import ModelSettings, SearchSettings, Settings, TokenizerSettings, TrainingSettings
from regard.config.spelling import near

__all__ = [
    "PRESETS",
    "DataSettings",
    "ModelPlan",
    "ModelSettings",
    "Plan",
    "Preset",
    "SearchSettings",
    "Settings",
    "TokenizerPlan",
    "TokenizerSettings",
    "TrainingPlan",
    "TrainingSettings",
    "Tree",
    "merge",
    "model_fields",
    "near",
    "parse_plan",
    "plan_model",
    "preset_fields",
    "read_recipe",
    "recipe_text",
    "settle",
    "shipped_recipes",
]
