"""From a model to its outputs: greedy search, beam search, sampling. Knows the contract and no architecture."""

from regard.inference.batching import ProgressCallback, TooLong, classify, decode, evaluating, too_long
from regard.inference.hypothesis import Hypothesis

__all__ = ["Hypothesis", "ProgressCallback", "TooLong", "classify", "decode", "evaluating", "too_long"]
