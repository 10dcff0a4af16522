"""Training resumed is training never interrupted, to the bit; and every limit ends it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from training_material import PAIRS, fresh, team

from regard.config import TrainingPlan
from regard.data.batches import make_batch, plan
from regard.errors import UserError
from regard.evaluation.evaluate import teacher_forced
from regard.training.checkpoint_selection import record_validation, select_checkpoint
from regard.training.loop import Divergence, total_steps, train
from regard.training.microbatches import microbatch_plan
from regard.training.report import StepReport
from regard.training.state import TrainingState, restore
from regard.weights import clone_weights, read_tensors, weights_of, write_tensors


def settings(**changes: Any) -> TrainingPlan:
    chosen = {"steps": 17, "batch_tokens": 100, "rate": 3e-3, "warmup_steps": 5, "label_smoothing": 0.1}
    chosen |= {"evaluate_every": 3, "metric": "loss", "average": 3, "seed": 5}
    return TrainingPlan(**{**chosen, **changes})


def make_validate(state: TrainingState) -> Callable[[], dict[str, float]]:
    def validate() -> dict[str, float]:
        forced = teacher_forced(state.model, [make_batch(PAIRS, rows) for rows in plan(PAIRS, 400, 0, 0)])
        return {"loss": forced.loss, "accuracy": forced.token_accuracy}

    return validate


def run(state: TrainingState, training: TrainingPlan, until: int | None = None) -> list[StepReport]:
    """Reports up to a step, as if Ctrl-C came after it."""
    reports = []
    for report in train(state, PAIRS, training, make_validate(state), team(state, PAIRS, training)):
        reports.append(report)
        if report.step == until:
            break
    return reports


def everything(state: TrainingState) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    numbers = asdict(state.progress)
    del numbers["seconds"], numbers["ended"]
    return state.tensors(), numbers


def assert_same(one: TrainingState, two: TrainingState) -> None:
    (tensors, numbers), (others, other_numbers) = everything(one), everything(two)
    assert numbers == other_numbers
    assert tensors.keys() == others.keys()
    different = [name for name in tensors if not torch.equal(tensors[name], others[name])]
    assert different == []


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
@pytest.mark.parametrize("preset", ["lstm-additive", "transformer", "rnn-language"])
@pytest.mark.parametrize("stops", [(8,), (1, 2, 10, 16)])
def test_resumed_equals_never_interrupted(optimizer: str, preset: str, stops: tuple[int, ...], tmp_path: Path) -> None:
    training = settings(optimizer=optimizer)
    assert len(microbatch_plan(PAIRS, training, 0)) not in (1, 2, 8, 16), "the stops must be inside an epoch"
    whole = fresh(training, preset)
    expected = run(whole, training)

    state, reports = fresh(training, preset), []
    for stop in stops:
        reports += run(state, training, until=stop)
        write_tensors(tmp_path / "state", state.tensors(), asdict(state.progress))
        torch.manual_seed(stop)  # a new process has other random numbers
        state = fresh(training, preset)
        restore(state, *read_tensors(tmp_path / "state"), where="state")
    reports += run(state, training)

    assert_same(whole, state)
    assert [(r.step, r.loss, r.norm, r.dev, r.improved) for r in reports] == [
        (r.step, r.loss, r.norm, r.dev, r.improved) for r in expected
    ]
    averaged, expected_average = state.averaged(), whole.averaged()
    assert averaged is not None and expected_average is not None
    assert all(torch.equal(averaged[name], expected_average[name]) for name in averaged)


def test_the_same_seed_gives_the_same_weights_and_another_does_not() -> None:
    states = []
    for seed in (5, 5, 6):
        training = settings(seed=seed, steps=4)
        state = fresh(training)
        run(state, training)
        states.append(weights_of(state.model))
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert not all(torch.equal(states[0][name], states[2][name]) for name in states[0])


def test_dropout_differs_from_step_to_step() -> None:
    """Were the seed of a step always the same, the same units would be dropped for ever."""
    training = settings(steps=2, rate=1e-12, batch_tokens=100_000, evaluate_every=100)  # one batch, hardly moving
    first, second = run(fresh(training), training)
    assert first.loss != second.loss


def test_it_learns() -> None:
    training = settings(steps=60, evaluate_every=20, batch_tokens=400, label_smoothing=0.0)
    state = fresh(training, "lstm-additive")
    reports = run(state, training)
    validations = [report.dev["loss"] for report in reports if report.dev]
    assert validations[-1] < validations[0] - 0.3
    assert state.progress.tokens == sum(report.tokens for report in reports)


def test_each_limit_ends_training_with_a_validation() -> None:
    batches = len(microbatch_plan(PAIRS, settings(), 0))
    for changes, ended, steps in (
        ({"steps": 4}, "training.steps", 4),
        ({"steps": None, "epochs": 1.5}, "training.epochs", -(-batches * 3 // 2)),
        ({"minutes": 1e-9}, "training.minutes", 1),
    ):
        training = settings(**changes, evaluate_every=1000)
        state = fresh(training)
        reports = run(state, training)
        assert (state.progress.ended, len(reports)) == (ended, steps)
        assert [report.dev is not None for report in reports] == [False] * (steps - 1) + [True]
    assert total_steps(PAIRS, settings(steps=None, epochs=1.5)) == -(-batches * 3 // 2)
    assert total_steps(PAIRS, settings(steps=None)) is None


def test_a_finished_run_goes_on_only_when_it_may() -> None:
    training = settings(steps=4)
    state = fresh(training)
    run(state, training)
    assert run(state, training) == []
    assert [report.step for report in run(state, settings(steps=6))] == [5, 6]


def test_patience_counts_validations_without_progress_and_keeps_the_best() -> None:
    training = settings(steps=1000, evaluate_every=2, patience=3, average=2)
    state = fresh(training)
    losses = iter([3.0, 2.0, 2.5, 1.0, 1.0, 1.5, 1.2, 0.1])
    weights = {}
    for report in train(state, PAIRS, training, lambda: {"loss": next(losses)}, team(state, PAIRS, training)):
        weights[report.step] = clone_weights(weights_of(state.model))
    assert state.progress.ended == "training.patience"
    assert (state.progress.step, state.progress.best_step) == (14, 8)
    assert state.progress.best == {"loss": 1.0} and state.best is not None
    assert all(torch.equal(state.best[name], weights[8][name]) for name in state.best)
    averaged = state.averaged()
    assert averaged is not None and len(state.recent) == 2
    for name in averaged:
        torch.testing.assert_close(averaged[name], (weights[12][name] + weights[14][name]) / 2)


@pytest.mark.parametrize(("measured", "kind"), [(0.5, "average"), (1.0, "best"), (1.5, "best")])
def test_the_average_is_the_model_only_where_it_was_measured_to_be_better(measured: float, kind: str) -> None:
    training = settings(steps=6, evaluate_every=2, average=2)
    state = fresh(training)
    losses = iter([3.0, 1.0, 2.0])
    for _ in train(state, PAIRS, training, lambda: {"loss": next(losses)}, team(state, PAIRS, training)):
        pass
    before = {name: tensor.clone() for name, tensor in state.tensors().items()}
    averaged, seen = state.averaged(), []

    def validate() -> dict[str, float]:
        seen.append(clone_weights(weights_of(state.model)))
        return {"loss": measured}

    selected = select_checkpoint(state, training, validate)
    assert averaged is not None and state.best is not None and len(seen) == 1
    assert all(torch.equal(seen[0][name], averaged[name]) for name in averaged)
    assert (selected.kind, selected.dev) == (kind, {"loss": min(measured, 1.0)})
    expected = averaged if kind == "average" else state.best
    assert all(torch.equal(selected.weights[name], expected[name]) for name in expected)
    texts = {
        "average": "the average of the last 2 validations, dev loss 0.500",
        "best": "the best validation, dev loss 1.000",
    }
    assert selected.text("loss") == texts[kind]
    after = state.tensors()  # the last weights are in the model again
    assert after.keys() == before.keys() and all(torch.equal(after[name], before[name]) for name in after)


def test_without_an_average_nothing_is_measured_again() -> None:
    def validate() -> dict[str, float]:
        raise AssertionError("not needed")

    for average, kind in ((0, "best"), (1, "best")):
        training = settings(steps=3, average=average)
        state = fresh(training)
        run(state, training)
        assert select_checkpoint(state, training, validate).kind == kind
    state = fresh(settings())
    assert select_checkpoint(state, settings(), validate).kind == "last"


def test_ties_are_broken_by_the_loss_until_all_is_right() -> None:
    training = settings(metric="exact", average=0)
    state = fresh(training)
    validations = [(0, 3.0), (0, 2.0), (0, 2.5), (100, 1.0), (100, 0.5), (100, 0.7)]
    seen = [(record_validation(state, {"exact": e, "loss": x}, training), state.progress.stale) for e, x in validations]
    assert seen == [(True, 0), (True, 0), (False, 1), (True, 0), (True, 1), (False, 2)]


def test_the_gradient_is_clipped() -> None:
    training = settings(steps=1, clip=1e-3, label_smoothing=0.0)
    state = fresh(training)
    (report,) = run(state, training)
    assert report.norm > 1e-3  # before
    gradients = [parameter.grad for parameter in state.model.parameters() if parameter.grad is not None]
    assert torch.stack([g.norm() for g in gradients]).norm().item() == pytest.approx(1e-3, rel=1e-3)


def test_a_loss_that_is_no_number_is_an_error_before_it_harms() -> None:
    training = settings()
    state = fresh(training)
    before = clone_weights(weights_of(state.model))
    parameter = next(state.model.parameters())
    parameter.register_hook(lambda gradient: gradient * torch.nan)
    with pytest.raises(Divergence) as caught:
        run(state, training)
    assert re.match(
        r"step 1 \(batch 1 of \d+ of epoch 1\): the gradient is nan at a learning rate of", str(caught.value.refusal())
    )
    assert all(torch.equal(before[name], value) for name, value in weights_of(state.model).items())
    assert state.progress.step == 0


def test_a_damaged_state_is_an_error() -> None:
    training = settings(steps=2)
    state = fresh(training)
    run(state, training)
    tensors, numbers = state.tensors(), asdict(state.progress)
    with pytest.raises(UserError, match="there: the training state is damaged"):
        restore(fresh(training), tensors, {**numbers, "unknown": 1}, where="there")
    with pytest.raises(UserError, match="there: the training state is damaged"):
        restore(
            fresh(training), {**tensors, "muon/momentum/decoder.output.bias": torch.ones(1)}, numbers, where="there"
        )
    with pytest.raises(UserError, match="there lacks"):
        restore(
            fresh(training), {k: v for k, v in tensors.items() if not k.startswith("last/")}, numbers, where="there"
        )
