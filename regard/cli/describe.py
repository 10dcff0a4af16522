"""regard describe."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from regard.archive import SUFFIX
from regard.config import (
    PRESETS,
    ModelSettings,
    Plan,
    near,
    plan_model,
    read_recipe,
    recipe_text,
    settle,
    shipped_recipes,
)
from regard.config.values import IMAGE_ENCODERS, Positive
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
    """Tell what a model is made of: its modules with shapes and parameters, and what a token costs; of a run, its plan.

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
    run: Plan | None = None
    if name in PRESETS:
        plan = plan_model(settle({"model": {"preset": name}}, given, where="command line").model)
        about = PRESETS[name].about
    elif (Path(name) / "recipe.toml").is_file() or name.endswith(SUFFIX):
        from regard.checkpoint import read_codecs, read_facts, read_plan
        from regard.data.codecs import same_vocabulary

        if given["model"]:
            raise UserError(f"{name} is trained and stays as it is; --model.* is for a preset or a recipe")
        run, about = read_plan(Path(name)), _about(read_facts(Path(name)))
        source, target = read_codecs(Path(name), run)
        plan, sizes, shared = run.model, (source.size, target.size), same_vocabulary(source, target)
    elif name in shipped_recipes() or Path(name).is_file():
        plan = plan_model(settle(read_recipe(name), given, where=name).model)
        about = f"a recipe; preset {plan.preset}"
    else:
        raise UserError(
            f"{name!r} is no preset, no recipe and no run directory{near(name, [*PRESETS, *shipped_recipes()])}"
        )
    if plan.encoder in IMAGE_ENCODERS and run is None:
        sizes, shared = (1, vocabulary), False
    description = describe_model(blueprint(plan, *sizes, shared), name, about)
    if json:
        facts = description.as_dict() if run is None else {**description.as_dict(), "plan": run.as_dict()}
        print(jsonlib.dumps(facts, ensure_ascii=False, indent=2))
    else:
        print(render(description))
        if run is not None:
            print(f"\nits plan, and who decided each value:\n\n{recipe_text(run)}", end="")
    return 0


def _about(facts: dict[str, Any]) -> str:
    """What a run is, and where its weights come from, where they were not trained here."""
    origin = facts.get("origin")
    if origin is None:
        return "a trained run"
    how = "imported from" if facts.get("status") == "imported" else "trained on from"
    return f"{how} {origin['name']} ({origin['format']}), licence {origin['licence']}"
