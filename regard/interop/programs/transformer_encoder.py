from regard.interop.programs.attention import add_positions
from regard.interop.programs.layers import Array, embed, norm
from regard.interop.programs.transformer_layers import transformer_layer


def encode(w: dict[str, Array], c: dict, ids: list[int]) -> tuple[Array, Array]:
    """The states of the source (S, D), and their mean."""
    x = add_positions(w, "encoder", c, embed(w, "encoder.embedding", ids))
    for layer in range(c["encoder_depth"]):
        x = transformer_layer(w, f"encoder.layers.{layer}", c, x)
    x = norm(w, "encoder.norm", x)
    return x, x.mean(0)
