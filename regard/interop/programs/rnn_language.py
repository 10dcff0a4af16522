import numpy as np

from regard.interop.programs.cells import first_state, unroll
from regard.interop.programs.layers import Array, embed, linear


def decode(w: dict[str, Array], c: dict, ids: list[int], memory: None) -> Array:
    """Logits (T, V) of the token after each."""
    x = embed(w, "decoder.embedding", ids)
    for layer in range(c["decoder_depth"]):
        name = f"decoder.stack.layers.{layer}"
        x = unroll(w, name, c, x, first_state(w, name, c))
    return linear(w, "decoder.output", np.tanh(linear(w, "decoder.readout_proj", x)))
