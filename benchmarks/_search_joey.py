"""JoeyNMT: its greedy and its beam search."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from _joey import joey_model, swapped
from _search import Ends, Search, serve
from joeynmt.search import search as joey_search  # pyrefly: ignore[missing-import]
from torch import Tensor


def make(fields: dict[str, Any]) -> Search:
    model = joey_model(fields).eval()
    ends, plain = Ends(model.eos_index), model.forward

    def ending(return_type: str, **inputs: Any) -> Any:
        output = plain(return_type=return_type, **inputs)
        if return_type == "decode":
            ends.force(output[0][:, -1], inputs["encoder_output"])
        return output

    model.forward = ending

    def search(sources: Tensor, lengths: Tensor, beams: int) -> int:
        real = sources != 0
        batch = SimpleNamespace(src=swapped(sources), src_mask=real.unsqueeze(1), src_length=real.sum(1), has_trg=False)
        ends.begin(lengths)
        output, _, _ = joey_search(model, batch, fields["longest"], beams, beam_alpha=1.0)
        return int(((output == model.eos_index).argmax(1) + 1).sum())

    return search


if __name__ == "__main__":
    serve(make)
