"""JoeyNMT: its greedy and its beam search."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from _joey import joey_model, swapped
from _search import Search, serve
from joeynmt.search import search as joey_search  # pyrefly: ignore[missing-import]
from torch import Tensor


def make(fields: dict[str, Any]) -> Search:
    model = joey_model(fields).eval()

    def search(sources: Tensor, lengths: Tensor, beams: int) -> int:
        real = sources != 0
        batch = SimpleNamespace(src=swapped(sources), src_mask=real.unsqueeze(1), src_length=real.sum(1), has_trg=False)
        found, _, _ = joey_search(
            model, batch, fields["written"], beams, beam_alpha=1.0, min_output_length=fields["written"]
        )
        return found.size

    return search


if __name__ == "__main__":
    serve(make)
