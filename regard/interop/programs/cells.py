# Recurrent cells (Elman 1990; Hochreiter & Schmidhuber 1997; Cho 2014).
import numpy as np

from regard.interop.programs.layers import Array, linear, sigmoid

CellRows = tuple[Array, ...]  # the hidden state first


def first_state(w: dict[str, Array], name: str, c: dict) -> CellRows:
    """Zeros, or what was learned."""
    count = 2 if c["cell"] == "lstm" else 1
    zeros = np.zeros(count * w[f"{name}.state_proj.weight"].shape[1], np.float32)
    return tuple(np.split(w.get(f"{name}.first_state", zeros), count))


def step(w: dict[str, Array], name: str, c: dict, x: Array, state: CellRows) -> CellRows:
    """x: what input_proj made of the input. lstm: gates i, f, g, o; gru: r, z, n."""
    u = linear(w, f"{name}.state_proj", state[0])
    if c["cell"] == "rnn":
        return (np.tanh(x + u),)
    if c["cell"] == "lstm":
        i, f, g, o = np.split(x + u, 4)
        cell = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(cell), cell
    (xr, xz, xn), (ur, uz, un) = np.split(x, 3), np.split(u, 3)
    z, n = sigmoid(xz + uz), np.tanh(xn + sigmoid(xr + ur) * un)
    return ((1 - z) * n + z * state[0],)


def unroll(w: dict[str, Array], name: str, c: dict, inputs: Array, state: CellRows) -> Array:
    """The hidden state after each input: (T, W)."""
    hidden = []
    for x in linear(w, f"{name}.input_proj", inputs):
        state = step(w, name, c, x, state)
        hidden.append(state[0])
    return np.stack(hidden)
