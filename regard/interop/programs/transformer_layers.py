# Transformer (Vaswani 2017).
from regard.interop.programs.attention import attend
from regard.interop.programs.blocks import feed_forward, residual
from regard.interop.programs.layers import Array


def transformer_layer(w: dict[str, Array], name: str, c: dict, x: Array, states: Array | None = None) -> Array:
    """Self-attention, cross-attention to `states` where the layer has it, feed-forward; causal in a decoder."""
    causal = name.startswith("decoder")
    own = f"{name}.self_attention"
    x = residual(w, f"{name}.self_residual", c, x, lambda y: attend(w, own, c, y, y, causal, own=True))
    if states is not None:
        cross = f"{name}.cross_attention"
        x = residual(w, f"{name}.cross_residual", c, x, lambda y: attend(w, cross, c, y, states))
    return residual(w, f"{name}.ffn_residual", c, x, lambda y: feed_forward(w, f"{name}.feed_forward", c, y))
