from regard.interop.programs.attention import add_positions
from regard.interop.programs.layers import Array, embed, linear, norm
from regard.interop.programs.transformer_layers import transformer_layer


def decode(w: dict[str, Array], c: dict, ids: list[int], memory: tuple[Array, Array] | None) -> Array:
    """Logits (T, V) of the token after each."""
    x = add_positions(w, "decoder", c, embed(w, "decoder.embedding", ids))
    for layer in range(c["decoder_depth"]):
        x = transformer_layer(w, f"decoder.layers.{layer}", c, x, None if memory is None else memory[0])
    return linear(w, "decoder.output", norm(w, "decoder.norm", x))
