"""A whole run from one configuration: corpus, tokenizers, model, training, and everything written into the run."""

from regard.experiment.resolve import resolve
from regard.experiment.run import RunResult, run_experiment, train

__all__ = ["RunResult", "resolve", "run_experiment", "train"]
