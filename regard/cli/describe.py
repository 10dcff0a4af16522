"""regard describe."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from regard.config import PRESETS, ModelSettings, near, read_recipe, settle, shipped_recipes
from regard.config.settings import PICTURE_ENCODERS, Positive
from regard.errors import UserError

VOCABULARY = 8000  # assumed where no run has one


def describe(
    name: str | None = None,
    /,
    *,
    vocabulary: Positive = VOCABULARY,
    model: Annotated[ModelSettings, Parameter(name="--model")] = ModelSettings(),  # noqa: B008
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Tell what a model is made of: its modules with shapes and parameters, and what a token costs.

    Parameters
    ----------
    name
        A preset, a recipe or a run directory; without it, all presets are listed.
    vocabulary
        Entries of the vocabulary to assume for a preset or a recipe.
    json
        The same as JSON.
    """
    if name is None:
        for preset, what in PRESETS.items():
            print(f"{preset:<24} {what.about}")
        return 0
    from regard.analysis.describe import blueprint, render
    from regard.analysis.describe import describe as describe_model

    given = {"model": model.model_dump(exclude_unset=True)}
    sizes, shared = (vocabulary, vocabulary), True
    if name in PRESETS:
        config, about = settle({"model": {"preset": name}}, given, where="command line"), PRESETS[name].about
    elif (Path(name) / "recipe.toml").is_file():
        from regard.checkpoint import read_codecs, read_config

        if given["model"]:
            raise UserError(f"{name} is trained and stays as it is; --model.* is for a preset or a recipe")
        config, about = read_config(Path(name)), "a trained run"
        source, target = read_codecs(Path(name), config)
        sizes, shared = (source.size, target.size), source is target
    elif name in shipped_recipes() or Path(name).is_file():
        config = settle(read_recipe(name), given, where=name)
        about = f"a recipe; preset {config.model.preset}"
    else:
        raise UserError(
            f"{name!r} is no preset, no recipe and no run directory{near(name, [*PRESETS, *shipped_recipes()])}"
        )
    if config.model.encoder in PICTURE_ENCODERS and not (Path(name) / "recipe.toml").is_file():
        sizes, shared = (1, vocabulary), False
    description = describe_model(blueprint(config.model, *sizes, shared), name, about)
    print(jsonlib.dumps(description.as_dict(), ensure_ascii=False, indent=2) if json else render(description))
    return 0
