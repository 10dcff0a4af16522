"""Loss, rate, loop and report: from a model and encoded pairs to trained weights."""
