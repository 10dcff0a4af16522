"""Bricks: tensors in, tensors out; no text, no config."""
