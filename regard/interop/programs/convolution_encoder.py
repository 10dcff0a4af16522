from regard.interop.programs.attention import add_positions
from regard.interop.programs.blocks import residual
from regard.interop.programs.gates import convolve
from regard.interop.programs.layers import Array, embed, norm


def encode(w: dict[str, Array], c: dict, ids: list[int]) -> tuple[Array, Array]:
    """The states of the source (S, D), and their mean."""
    x, centred = add_positions(w, "encoder", c, embed(w, "encoder.embedding", ids)), (c["kernel"] - 1) // 2
    for layer in range(c["encoder_depth"]):
        name = f"encoder.layers.{layer}"
        x = residual(w, f"{name}.residual", c, x, lambda y, n=name: convolve(w, f"{n}.convolution", c, y, centred))
    x = norm(w, "encoder.norm", x)
    return x, x.mean(0)
