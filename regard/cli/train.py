"""regard train."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from regard.config import Settings, plan_model, read_recipe, settle
from regard.errors import UserError


def train(
    recipe: str | None = None,
    /,
    *,
    out: Path | None = None,
    resume: Annotated[bool, Parameter(negative="")] = False,
    distill: Annotated[list[Path] | None, Parameter(negative="")] = None,
    settings: Annotated[Settings, Parameter(name="*")] = Settings(),  # noqa: B008
) -> int:
    """Train a model; the run directory holds the complete recipe, the tokenizers, the weights and the curves.

    Parameters
    ----------
    recipe
        A TOML file, or the name of one that ships with regard. Without it, give --data.* and --model.preset.
    out
        The run directory to write (runs/RECIPE or runs/PRESET).
    resume
        Continue the run in --out from where it stopped.
    distill
        A teacher's run: its outputs are added to the training targets and kept in OUT-taught. --distill A
        --distill B: an ensemble teaches. With one teacher, a --model.preset of its kind and width starts from its
        layers.
    """
    given = settings.model_dump(exclude_unset=True)
    if resume and out is None:
        raise UserError("--resume needs --out RUN: the run directory to continue")
    if not resume and recipe is None and not given:
        raise UserError(
            "nothing to train: name a recipe (regard data list shows them), or give --data.pairs FILE, or "
            "--data.source FILE and --data.target FILE, with --model.preset NAME"
        )
    config = settle(read_recipe(recipe) if recipe else {}, given, where=recipe or "command line")
    from regard.experiment import run_experiment
    from regard.training.distributed import torchrun_rank

    path = out or Path("runs") / _name(recipe, config)
    if config.training.init_from is not None and torchrun_rank() == 0:
        config = _imported(config, Path(config.training.init_from), path)
    if distill and torchrun_rank() == 0:
        config = _taught(distill, config, path, resume)
    result = run_experiment(config, path, resume)
    if result.status == "interrupted":
        return 130
    if torchrun_rank() == 0:
        print(f"next: regard evaluate {result.path}", file=sys.stderr)
    return 0


def _name(recipe: str | None, config: Settings) -> str:
    model = plan_model(config.model)
    return Path(recipe).stem if recipe else model.preset or f"{model.encoder}-{model.decoder}"


def _imported(config: Settings, folder: Path, path: Path) -> Settings:
    """The same settings, beginning with a run that is made of another program's model, where init_from names one."""
    from regard.checkpoint import is_run
    from regard.interop import import_model, is_foreign

    if not folder.is_dir() or is_run(folder) or not is_foreign(folder):
        return config
    run = path.with_name(f"{path.name}-imported")
    if not is_run(run):
        for line in import_model(folder, run).summary()[:2]:
            print(line, file=sys.stderr)
    training = config.training.model_copy(update={"init_from": str(run)})
    return config.model_copy(update={"training": training})


def _taught(teachers: list[Path], config: Settings, path: Path, resume: bool) -> Settings:
    """The same settings on what the teacher writes."""
    from regard.checkpoint import is_run
    from regard.cli.progress import progress_bar
    from regard.data.corpus import load_corpus
    from regard.experiment.distill import taught

    if resume or is_run(path):
        raise UserError(
            f"--distill {teachers[0]}: {path} has its data already; continue with --resume and without --distill"
        )
    with progress_bar("the teacher translates", len(load_corpus(config.data).train)) as progress:
        config, left_out = taught(config, teachers, path.with_name(f"{path.name}-taught"), progress)
    folder = config.data.corpus
    print(f"the teacher's outputs: {folder}; sources without a finished output: {left_out}", file=sys.stderr)
    return config
