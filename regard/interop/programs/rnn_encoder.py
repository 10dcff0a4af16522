import numpy as np

from regard.interop.programs.cells import first_state, unroll
from regard.interop.programs.layers import Array, embed


def encode(w: dict[str, Array], c: dict, ids: list[int]) -> tuple[Array, Array]:
    """The states of the top layer (S, D), and the last one of each direction."""
    x, ends = embed(w, "encoder.embedding", ids), []
    for layer in range(c["encoder_depth"]):
        states, ends = [], []
        for way, order in (("forwards", 1), ("backwards", -1)):
            name = f"encoder.layers.{layer}.{way}"
            if f"{name}.input_proj.weight" in w:
                hidden = unroll(w, name, c, x[::order], first_state(w, name, c))
                states.append(hidden[::order])
                ends.append(hidden[-1])
        x = np.concatenate(states, 1)
    return x, np.concatenate(ends)
