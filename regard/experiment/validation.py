"""A look at the development set: loss, accuracy, and the metric that needs outputs."""

from __future__ import annotations

import math

import numpy as np

from regard.config import SearchSettings
from regard.data.batches import make_batch, plan
from regard.data.tokenizer import Tokenizer
from regard.evaluation import metrics
from regard.evaluation.evaluate import teacher_forced
from regard.experiment.setup import Material
from regard.inference import TooLong, decode
from regard.inference.incremental import stepping
from regard.training.loop import Look

# Development examples that are decoded at each look, at most: BLEU and chrF of 500 tell late steps apart by chance.
DECODED = {"exact": 500, "bleu": 1000, "chrf": 1000}


def development_look(material: Material) -> Look:
    """The function that the training loop calls; it leaves the model and its randomness as they were."""
    training = material.config.training
    assert training.batch_tokens is not None, "complete the configuration first"
    batches = plan(material.dev, training.batch_tokens, seed=0, epoch=0)
    outputs = GreedyScore(material) if training.metric in ("exact", "bleu", "chrf") else None

    def look() -> dict[str, float]:
        forced = teacher_forced(material.model, (make_batch(material.dev, rows) for rows in batches))
        results = {"loss": forced.loss, "accuracy": forced.token_accuracy}
        return results if outputs is None else {**results, outputs.metric: outputs.measure()}

    return look


class GreedyScore:
    """Exact match, BLEU or chrF of greedy outputs for the first development examples that were encoded, in percent."""

    def __init__(self, material: Material) -> None:
        assert material.config.training.metric is not None and isinstance(material.target, Tokenizer)
        self.metric = material.config.training.metric
        self._model, self._target = material.model, material.target
        dev = material.dev  # without the pairs that are left out for their length
        most = DECODED[self.metric]
        examples = [material.corpus.dev[index] for index in dev.examples[:most].tolist()]
        self._references = [example.target for example in examples]
        self._sources = [dev.source.source(row) for row in range(len(examples))]
        self._search = SearchSettings(beams=1, max_tokens=output_limit(dev.target_lengths[:most]))

    def measure(self) -> float:
        found = decode(stepping(self._model), self._sources, self._search)
        texts = ["" if isinstance(one, TooLong) else self._target.decode(one[0].tokens) for one in found]
        match self.metric:
            case "exact":
                return metrics.exact_match(texts, self._references).value
            case "bleu":
                return metrics.bleu(texts, self._references, resamples=0).value
            case _:
                return metrics.chrf(texts, self._references, resamples=0).value


def output_limit(lengths: np.ndarray) -> int:
    """Most tokens of an output at a look, by the lengths of the references (EOS included): 1.5 × the 95th percentile.

    An early model never ends, so the limit is what a look costs, and one long line must not set it. An output that is
    cut there counts as it is: the few references that are longer are never matched whole at a look.
    """
    usual = float(np.percentile(lengths, 95, method="lower"))
    return max(16, math.ceil(1.5 * usual))
