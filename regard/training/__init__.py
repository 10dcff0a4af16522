"""From a model and encoded pairs to trained weights.

The loss (with label smoothing), the optimizer and its schedule, gradient accumulation over microbatches, data-parallel
training, validation with early stopping, and the choice of the weights: the best, the last, or checkpoint averaging.
"""
