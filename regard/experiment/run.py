"""Train into a directory, or resume the run that is there."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from regard.checkpoint import (
    LOCK,
    MODEL,
    PREVIOUS,
    RECIPE,
    STATE,
    VALIDATED,
    is_run,
    is_unfinished_start,
    read_codecs,
    read_facts,
    read_plan,
    resume_line,
    start_run,
    write_facts,
    write_plan,
)
from regard.config import Plan, Settings, read_recipe, settle
from regard.data.codecs import same_vocabulary
from regard.data.corpus import Corpus, Task, load_corpus
from regard.errors import UserError
from regard.experiment.banner import banner
from regard.experiment.follow import METRICS, Follower, save_state
from regard.experiment.held_out import held_out_pairs
from regard.experiment.resume import extend_plan
from regard.experiment.run_lock import RunLock
from regard.experiment.seal import seal_run
from regard.experiment.setup import Setup, assemble_setup, new_setup
from regard.experiment.validation import make_validate
from regard.files import write_text
from regard.threads import configure_torch
from regard.training import loop
from regard.training.checkpoint_selection import SelectedCheckpoint, select_checkpoint
from regard.training.curve import curve_svg
from regard.training.distributed import share_result, torchrun_rank, torchrun_world_size
from regard.training.microbatches import microbatch_plan
from regard.training.replica import follow_torchrun
from regard.training.report import Metrics, ProgressLine, clock, dev_text, read_metrics
from regard.training.state import TrainingState, new_state, restore
from regard.weights import read_tensors, weights_of, write_tensors

DIVERGED = 10  # times the loss of guessing: what is wrong and sure of it, of a few classes say, has a few times it


@dataclass(frozen=True)
class RunResult:
    """What happened."""

    path: Path
    status: Literal["finished", "interrupted"]
    ended: str | None  # the setting that ended training
    plan: Plan
    task: Task
    parameters: int
    step: int
    epoch: float
    seconds: float
    best: dict[str, float] | None  # development results of the best validation
    best_step: int
    model: Literal["average", "best", "last"]  # which weights became the model
    dev: dict[str, float] | None  # their development results
    chosen: str  # the same in words
    skipped: dict[str, int]  # why, and how many
    guessing: float = math.inf  # the loss of a model for which all tokens are equally likely

    def summary(self) -> list[str]:
        """For people, a line each."""
        at = f"after {self.step:,} steps ({self.epoch:.1f} epochs) in {clock(self.seconds)}"
        lines = [f"ended by {self.ended} {at}" if self.status == "finished" else f"stopped {at}; all of it is saved"]
        if self.best is not None:
            metric = self.plan.training.metric
            lines.append(f"best on dev: {dev_text(self.best, metric)} (step {self.best_step:,})")
            if self.plan.training.average:
                lines.append(f"model: {self.chosen}")
            if self.best["loss"] > DIVERGED * self.guessing:
                lines.append(
                    f"note: a dev loss of {self.best['loss']:.3g} is far above that of guessing, {self.guessing:.3g}: "
                    f"training.rate = {self.plan.training.rate:g} is too high; train again with a lower one"
                )
        if self.status == "interrupted":
            lines.append(f"continue with {resume_line(self.path)}")
        return lines


def train(
    settings: Settings | dict[str, Any] | str, out: Path | str, resume: bool = False, progress: bool = True
) -> RunResult:
    """`run_experiment` for a notebook: settings as a recipe's name or file, as a tree, or as a Settings.

    train({"data": {"corpus": "dates"}, "model": {"preset": "transformer"}}, "runs/dates")
    """
    tree = read_recipe(settings) if isinstance(settings, str) else settings
    return run_experiment(tree if isinstance(tree, Settings) else settle(tree), out, resume, progress)


def run_experiment(settings: Settings, out: Path | str, resume: bool = False, progress: bool = True) -> RunResult:
    """Train what `settings` say into the directory `out`; or, to resume, continue with the run that is there.

    To resume, settings that are not given are the run's own. `progress`: say on stderr what happens.
    """
    if torchrun_rank() > 0:
        return follow_torchrun()
    out = Path(out)
    with RunLock(out):
        return _train(settings, out, resume, progress)


def _train(settings: Settings, out: Path, resume: bool, progress: bool) -> RunResult:
    if resume and not is_run(out) and is_unfinished_start(out):  # it was stopped before there was anything to resume
        resume = False
        if not settings.given() and (out / RECIPE).is_file():
            settings = settle(read_recipe(str(out / RECIPE)))
    setup, facts = _reopen(settings, out) if resume else _open(settings, out)
    training = setup.plan.training
    state = new_state(setup.model, training)
    metrics = Metrics(out / METRICS)
    notes: list[str] = []
    if resume:
        notes = _go_on(setup, state, out)
        metrics.cut_after(state.progress.step)
    else:
        save_state(state, out)  # from here on, a run without a state is one that lost it
    total = loop.total_steps(setup.train, training)
    line = ProgressLine(training, total, quiet=not progress)
    for text in (*notes, *banner(setup, state, facts)):
        line.say(text)
    validate = make_validate(setup)
    interrupted = Follower(setup, state, metrics, line, out).follow(validate, estimated=progress)
    selected = select_checkpoint(state, training, validate)
    result = _result(setup, state, selected, out, interrupted)
    _finish(setup, state, selected, out, {**facts, "status": result.status, "results": _results(result)})
    for text in result.summary():
        line.say(text)
    if torchrun_world_size() > 1:
        share_result(result)
    return result


def _open(settings: Settings, out: Path) -> tuple[Setup, dict[str, Any]]:
    """A new run, all of it but the training written into `out`."""
    if is_run(out):
        raise UserError(f"{out} holds a run already; continue with {resume_line(out)}, or choose another --out")
    empty = not out.exists() or (out.is_dir() and all(file.name == LOCK for file in out.iterdir()))
    if not empty and not is_unfinished_start(out):
        raise UserError(f"{out} exists and is not an empty directory; choose another --out")
    threads = configure_torch(settings.training.threads)
    setup = new_setup(settings)
    corpus = setup.corpus
    facts = {
        "task": setup.task,
        "status": "training",
        "corpus": corpus.name,
        "pairs": {split: len(examples) for split, examples in corpus.splits().items()},
        "skipped": setup.skipped,
        "notes": list(corpus.notes),
        "differing_placeholders": setup.train.differing,
        "source_size": setup.source.size,
        "target_size": setup.target.size,
        "shared": same_vocabulary(setup.source, setup.target),
        "parameters": setup.parameters,
        "threads": threads,
        "torch": torch.__version__,
        "fingerprint": fingerprint(corpus),
        **({"origin": setup.origin} if setup.origin else {}),
    }
    lexicon = setup.lexicon()
    start_run(out, setup.plan, setup.source, setup.target, held_out_pairs(setup, out), facts, lexicon)
    return setup, facts


def _reopen(settings: Settings, out: Path) -> tuple[Setup, dict[str, Any]]:
    if not is_run(out):
        raise UserError(f"{out} holds no run to resume; leave --resume out to begin one")
    if read_facts(out).get("status") == "imported":
        raise UserError(f"{out} was imported, not trained; train on with --training.init-from {out} and another --out")
    facts = read_facts(out, needed=("task", "fingerprint", "threads", "torch", "shared"))
    has_state = (out / STATE).is_file() or (out / PREVIOUS).is_file()
    if not has_state and any((out / name).is_file() for name in (MODEL, METRICS)):
        raise UserError(
            f"{out / STATE} is missing, and without it the run cannot go on; "
            f"restore it, or train again from {out / RECIPE}"
        )
    plan = extend_plan(settings, read_plan(out))
    configure_torch(plan.training.threads)
    corpus = load_corpus(plan.data)
    if fingerprint(corpus) != facts["fingerprint"]:
        raise UserError(f"{out}: the training or development data changed since the run began; train again elsewhere")
    codecs = read_codecs(out, plan, corpus.images)
    return assemble_setup(plan, corpus, codecs, resumed=has_state), facts


def _go_on(setup: Setup, state: TrainingState, out: Path) -> list[str]:
    """Put the state back, and only when the run can go on from it, write the settings that changed. Returns notes."""
    notes = _restore(state, out)
    progress, stored = state.progress, read_plan(out)
    reached = {"steps": progress.step, "epochs": _epochs(setup, state), "minutes": progress.seconds / 60}
    for key, value in reached.items():
        new, old = (getattr(plan.training, key) for plan in (setup.plan, stored))
        if new is not None and new != old and new < value:
            where = f"training.{key} = {new}, but the run has reached {value:.10g} already"
            raise UserError(f"{where}; give more, or resume without it")
    if setup.plan != stored:
        write_plan(out, setup.plan)
    return notes


def _restore(state: TrainingState, out: Path) -> list[str]:
    """The newest state, or where it is damaged the one before; a note where that was needed."""
    newest, previous = out / STATE, out / PREVIOUS
    if not newest.is_file() and not previous.is_file():  # it ended before it began
        save_state(state, out)
        return []
    try:
        restore(state, *read_tensors(newest), where=str(newest))
        return []
    except UserError as error:
        if not previous.is_file():
            raise
        problem = str(error).partition(";")[0]
    restore(state, *read_tensors(previous), where=str(previous))
    newest.unlink(missing_ok=True)  # so that the damaged state does not become the previous one
    return [f"note: {problem}; the run goes on from the state before it, of step {state.progress.step}"]


def fingerprint(corpus: Corpus) -> str:
    """Changes with any training or development example and with their order."""
    digest = hashlib.blake2b(digest_size=16)
    for split in (corpus.train, corpus.dev):
        for example in split:
            digest.update(repr((example.source, example.target)).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _finish(setup: Setup, state: TrainingState, selected: SelectedCheckpoint, out: Path, facts: dict[str, Any]) -> None:
    """Write what a run is when training has ended, or was stopped."""
    write_tensors(out / MODEL, selected.weights)
    write_tensors(out / "last.safetensors", weights_of(state.model))
    if state.best is not None and state.recent:
        write_tensors(out / "best.safetensors", state.best)
    model = setup.plan.model
    name = model.preset or f"{model.encoder} to {model.decoder}"
    title = f"{name} on {setup.corpus.name}, {setup.parameters:,} parameters, {clock(state.progress.seconds)}"
    if facts["status"] == "finished":
        (out / PREVIOUS).unlink(missing_ok=True)
        (out / VALIDATED).unlink(missing_ok=True)
    curve = curve_svg(read_metrics(out / METRICS), setup.plan.training.metric, title)
    write_text(out / "curve.svg", curve)
    write_facts(out, facts)
    seal_run(out)


def _result(
    setup: Setup, state: TrainingState, selected: SelectedCheckpoint, out: Path, interrupted: bool
) -> RunResult:
    progress = state.progress
    return RunResult(
        path=out,
        status="interrupted" if interrupted else "finished",
        ended=progress.ended,
        plan=setup.plan,
        task=setup.task,
        parameters=setup.parameters,
        step=progress.step,
        epoch=_epochs(setup, state),
        seconds=progress.seconds,
        best=progress.best,
        best_step=progress.best_step,
        model=selected.kind,
        dev=selected.dev,
        chosen=selected.text(setup.plan.training.metric),
        skipped=setup.skipped,
        guessing=math.log(setup.target.size),
    )


def _epochs(setup: Setup, state: TrainingState) -> float:
    """Epochs so far, with the fraction of this one."""
    progress = state.progress
    return progress.epoch + progress.index / len(microbatch_plan(setup.train, setup.plan.training, progress.epoch))


def _results(result: RunResult) -> dict[str, Any]:
    keys = ("ended", "step", "epoch", "seconds", "best", "best_step", "model", "dev")
    return {key: getattr(result, key) for key in keys}
