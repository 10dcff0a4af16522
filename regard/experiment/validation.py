"""Validation: loss, accuracy, and the metric that needs outputs, on the development set."""

from __future__ import annotations

import math

import numpy as np

from regard.config import SearchSettings
from regard.data.batches import make_batch, plan
from regard.evaluation import metrics
from regard.evaluation.evaluate import teacher_forced
from regard.experiment.setup import Setup
from regard.inference import TooLong
from regard.inference.engine import DecodingModel
from regard.training.loop import Validate

# Development examples decoded in each validation, at most: BLEU and chrF of 500 tell late steps apart by chance.
DECODED = {"exact": 500, "bleu": 1000, "chrf": 1000}


def make_validate(setup: Setup) -> Validate:
    """The function that the training loop calls; it leaves the model and its randomness as they were."""
    training = setup.plan.training
    batches = plan(setup.dev, training.batch_tokens, seed=0, epoch=0)
    outputs = GreedyScore(setup) if training.metric in ("exact", "bleu", "chrf") else None

    def validate() -> dict[str, float]:
        forced = teacher_forced(setup.model, (make_batch(setup.dev, rows) for rows in batches))
        results = {"loss": forced.loss, "accuracy": forced.token_accuracy}
        return results if outputs is None else {**results, outputs.metric: outputs.measure()}

    return validate


class GreedyScore:
    """Exact match, BLEU or chrF of greedy outputs for the first development examples that were encoded, in percent."""

    def __init__(self, setup: Setup) -> None:
        self.metric = setup.plan.training.metric
        self._model, self._target = setup.model, setup.target
        dev = setup.dev  # without the pairs that are left out for their length
        most = DECODED[self.metric]
        rows = range(min(most, len(dev)))
        # as they were encoded: symbols for placeholders, and a branch for a message with choices
        self._references = [setup.target.decode(dev.target.row(row).tolist()) for row in rows]
        self._sources = [dev.source.source(row) for row in rows]
        self._search = SearchSettings(beams=1, max_tokens=output_limit(dev.target_lengths[:most]))

    def measure(self) -> float:
        texts = [""] * len(self._sources)
        for index, hypotheses in DecodingModel(self._model).decode(self._sources, self._search):  # by torch
            if not isinstance(hypotheses, TooLong):
                texts[index] = self._target.decode(hypotheses[0].tokens)
        match self.metric:
            case "exact":
                return metrics.exact_match(texts, self._references).value
            case "bleu":
                return metrics.bleu(texts, self._references, resamples=0).value
            case _:
                return metrics.chrf(texts, self._references, resamples=0).value


def output_limit(lengths: np.ndarray) -> int:
    """Most tokens of an output, by the lengths of the references (EOS included): 1.5 × the 95th percentile.

    An early model never ends, so the limit is what validation costs, and a single long line must not set it. An output
    that is cut there counts as it is: the few references that are longer are never matched whole.
    """
    usual = float(np.percentile(lengths, 95, method="lower"))
    return max(16, math.ceil(1.5 * usual))
