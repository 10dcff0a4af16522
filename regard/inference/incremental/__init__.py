"""Incremental decoding: token by token, with caches and packed weights, as the models' own steps (tested)."""
