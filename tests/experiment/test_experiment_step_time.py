"""How long a run may take decides about its steps and its width; the guess knows what will be there to compute."""

from __future__ import annotations

import pytest
from test_experiment_defaults import chosen, corpus, own

from regard.config import ModelPlan, TrainingSettings
from regard.data.corpus import Example
from regard.experiment.step_time import StepTime, Workload, step_seconds

MUCH = corpus(100_000, 5)


@pytest.mark.parametrize(
    ("batches", "step", "steps"),
    [
        (0.5, 0.01, 1500),  # fewer would teach nothing
        (100, 0.1, 4000),  # forty epochs
        (200, 0.3, 5000),  # 25 minutes, for eight epochs take eight
        (1000, 0.3, 8000),  # eight epochs: forty minutes
        (3000, 0.3, 10_000),  # fifty minutes, and no more
        (3000, 30, 200),  # whatever it takes
    ],
)
def test_a_run_takes_longer_where_there_is_more_to_read_but_not_beyond_its_bound(
    batches: float, step: float, steps: int
) -> None:
    assert StepTime(step, batches).steps() == steps


@pytest.mark.parametrize("preset", ["transformer", "lstm-additive", "convolution"])
@pytest.mark.parametrize("pairs", [500, 20_000])
def test_a_run_warms_up_for_a_part_of_it(preset: str, pairs: int) -> None:
    training = chosen(corpus(pairs, 12), model={"preset": preset}).training
    assert training.warmup_steps * 5 <= (training.steps or 0)


def test_one_core_is_given_fewer_steps_for_the_same_time() -> None:
    text, model = corpus(20_000, 12), {"preset": "transformer"}
    both = chosen(text, model=model).training.steps or 0
    alone = chosen(text, model=model, training={"threads": 1, "processes": 1}).training.steps or 0
    assert alone < both
    assert chosen(text, model=model, training={"threads": 1}).training.steps == alone
    assert chosen(text, model=model, training={"threads": 1, "processes": 2}).training.steps == both


def test_classes_and_words_are_counted_not_guessed() -> None:
    """An output layer of a few classes costs nothing, however many words the sources have."""
    sentences = corpus(20_000, 12).train
    classes = own([Example(one.source, str(place % 9)) for place, one in enumerate(sentences)])
    few = own([Example(one.source, one.source[:40]) for one in sentences])  # a dozen words and numbers
    many = own([Example(one.source, f"{place:040d}") for place, one in enumerate(sentences)])  # each its own
    steps = [
        chosen(each, model={"preset": preset, "depth": 2}, tokenizer={"kind": "word"}).training.steps or 0
        for each, preset in ((classes, "transformer-classifier"), (few, "transformer"), (many, "transformer"))
    ]
    assert min(steps[:2]) > 1.5 * steps[2]
    apart = {"kind": "word", "shared": False}  # then the words of the sources are not chosen from
    back = own([Example(one.target, one.source) for one in many.train])
    assert chosen(back, model={"preset": "transformer", "depth": 2}, tokenizer=apart).training.steps == steps[1]


def test_a_model_is_wide_where_there_is_much_to_learn_from_and_time_to_read_it() -> None:
    model = {"preset": "transformer"}
    for training, width in (
        ({}, 128),
        ({"epochs": 12}, 128),  # it would take longer than a run takes unasked
        ({"minutes": 600}, 256),
        ({"minutes": 600, "epochs": 7.9}, 128),
        ({"minutes": 600, "steps": 1000}, 128),
        ({"minutes": 10}, 128),
    ):
        assert chosen(MUCH, model=model, training=training).model.width == width, training
    long = {"minutes": 600}
    assert chosen(MUCH, model={**model, "width": 64}, training=long).model.width == 64
    assert chosen(MUCH, model={"preset": "convolution"}, training=long).model.width == 256
    assert chosen(own(MUCH.train[1:]), model=model, training=long).model.width == 128


def test_a_recurrent_model_is_wide_sooner() -> None:
    widths = [chosen(corpus(pairs, 12), model={"preset": "lstm-additive"}).model.width for pairs in (19_900, 20_000)]
    assert widths == [128, 256]


def test_enough_is_eight_epochs_within_the_minutes() -> None:
    model, workload = (
        ModelPlan(encoder="transformer", decoder="transformer", width=256),
        Workload(20, 2048, 1000, 8000),
    )
    minutes = 8 * 1000 * step_seconds(model, workload) / 60
    for given, enough in ((1.01 * minutes, True), (0.99 * minutes, False)):
        training = TrainingSettings(minutes=given)
        assert StepTime.of(model, workload, training).is_enough(training) is enough
