import math

import numpy as np

from regard.interop.programs.attention import attend
from regard.interop.programs.cells import CellRows, step
from regard.interop.programs.layers import Array, embed, linear, softmax


def scores(w: dict[str, Array], c: dict, query: Array, states: Array) -> Array:
    """How well each state (S, D) answers the query (W,): (S,)."""
    name, kind = "decoder.attention.score", c["score"]
    keys = linear(w, f"{name}.key_proj", states)
    if kind == "additive":  # vᵀ tanh(W h + U s + b)
        return linear(w, f"{name}.score_proj", np.tanh(keys + linear(w, f"{name}.query_proj", query)))[:, 0]
    if kind == "cosine":
        unit = keys / np.linalg.norm(keys, axis=1, keepdims=True)
        return np.exp(w[f"{name}.log_scale"]) * (unit @ (query / np.linalg.norm(query)))
    found = keys @ linear(w, f"{name}.query_proj", query)
    return found / math.sqrt(keys.shape[1]) if kind in ("scaled-dot", "bilinear") else found


def context_of(w: dict[str, Array], c: dict, token: Array, state: Array, memory: tuple[Array, Array]) -> Array | None:
    """What the decoder knows of the source at a step: a weighted mean of the states, their summary, or nothing."""
    if c["context"] != "attention":
        return memory[1] if c["context"] == "every-step" else None
    query = state + linear(w, "decoder.token_proj", token) if "decoder.token_proj.weight" in w else state
    if c["score"] == "multi-head":
        return attend(w, "decoder.attention", c, query[None], memory[0])[0]
    found = scores(w, c, query, memory[0])
    positive = np.logaddexp(0, found)
    weights = positive / positive.sum() if c["weighting"] == "proportional" else softmax(found)
    return (weights @ memory[0]).astype(np.float32)


def decode(w: dict[str, Array], c: dict, ids: list[int], memory: tuple[Array, Array]) -> Array:
    """Logits (T, V) of the token after each (Bahdanau 2015); s_0 = tanh(W summary)."""
    depth, count = c["decoder_depth"], 2 if c["cell"] == "lstm" else 1
    first = np.split(np.tanh(linear(w, "decoder.bridge", memory[1])), depth * count)
    layers: list[CellRows] = [tuple(first[i * count : (i + 1) * count]) for i in range(depth)]
    features = []
    for token in embed(w, "decoder.embedding", ids):
        context, x = context_of(w, c, token, layers[-1][0], memory), token
        for layer in range(depth):
            name = f"decoder.stack.layers.{layer}"
            projected = linear(w, f"{name}.input_proj", x)
            if layer == 0 and context is not None:
                projected = projected + linear(w, "decoder.context_proj", context)
            layers[layer] = step(w, name, c, projected, layers[layer])
            x = layers[layer][0]
        known = [x, token] if context is None else [x, token, context]
        features.append(np.tanh(linear(w, "decoder.readout_proj", np.concatenate(known))))
    return linear(w, "decoder.output", np.stack(features))
