"""Faster versions of layers, each beside a test that says fast = plain. `fusion.fuse` puts them into a model."""
