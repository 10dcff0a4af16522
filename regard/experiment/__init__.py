"""A whole run from one configuration: corpus, tokenizers, model, training, and everything written into the run."""

from regard.experiment.defaults import complete
from regard.experiment.run import RunResult, run_experiment, train

__all__ = ["RunResult", "complete", "run_experiment", "train"]
