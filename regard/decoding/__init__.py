"""From a model to its outputs: greedy search, beam search, sampling. Knows the contract and no architecture."""

from regard.decoding.decode import Progress, TooLong, classify, decode, evaluating, too_long
from regard.decoding.hypothesis import Hypothesis

__all__ = ["Hypothesis", "Progress", "TooLong", "classify", "decode", "evaluating", "too_long"]
