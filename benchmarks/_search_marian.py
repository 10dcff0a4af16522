"""transformers: generate of MarianMTModel."""

from __future__ import annotations

from typing import Any

from _marian import marian
from _search import Search, serve
from torch import Tensor


def make(fields: dict[str, Any]) -> Search:
    model = marian(fields).eval()

    def search(sources: Tensor, beams: int) -> int:
        found = model.generate(
            input_ids=sources,
            attention_mask=(sources != 0).long(),
            num_beams=beams,
            do_sample=False,
            min_new_tokens=fields["written"],
            max_new_tokens=fields["written"],
            use_cache=True,
        )
        return found[:, 1:].numel()  # without the token that it starts with

    return search


if __name__ == "__main__":
    serve(make)
