"""From a model to its outputs: greedy search, beam search, sampling. Knows the contract and no architecture."""

from regard.inference.batching import Progress, TooLong, classify, decode, evaluating, too_long
from regard.inference.hypothesis import Hypothesis

__all__ = ["Hypothesis", "Progress", "TooLong", "classify", "decode", "evaluating", "too_long"]
