"""Architectures: one file each, readable alone beside its paper."""
