"""Bricks as formulas, tensors to tensors: attention, recurrence, convolution, positional encodings, masks, taps."""
