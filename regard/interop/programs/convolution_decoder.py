from regard.interop.programs.attention import add_positions, attend
from regard.interop.programs.blocks import residual
from regard.interop.programs.gates import convolve
from regard.interop.programs.layers import Array, embed, linear, norm


def decode(w: dict[str, Array], c: dict, ids: list[int], memory: tuple[Array, Array]) -> Array:
    """Logits (T, V) of the token after each."""
    x, causal = add_positions(w, "decoder", c, embed(w, "decoder.embedding", ids)), c["kernel"] - 1
    for layer in range(c["decoder_depth"]):
        n = f"decoder.layers.{layer}"
        x = residual(w, f"{n}.residual", c, x, lambda y, n=n: convolve(w, f"{n}.convolution", c, y, causal))
        cross = f"{n}.cross_attention"
        x = residual(w, f"{n}.cross_residual", c, x, lambda y, n=cross: attend(w, n, c, y, memory[0]))
    return linear(w, "decoder.output", norm(w, "decoder.norm", x))
