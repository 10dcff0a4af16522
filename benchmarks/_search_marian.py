"""transformers: generate of MarianMTModel."""

from __future__ import annotations

from typing import Any

from _marian import marian
from _search import EOS, Search, ended, serve
from torch import Tensor
from transformers import LogitsProcessor, LogitsProcessorList  # pyrefly: ignore[missing-import]


class Ending(LogitsProcessor):
    """Every row ends at a length of its own, not before and not after."""

    def __init__(self, lengths: Tensor) -> None:
        self._lengths = lengths

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        count = input_ids.shape[1]  # BOS included: as many as there are after this step without it
        return ended(scores, (self._lengths <= count).nonzero()[:, 0].tolist())


def make(fields: dict[str, Any]) -> Search:
    model = marian(fields).eval()

    def search(sources: Tensor, lengths: Tensor, beams: int) -> int:
        output = model.generate(
            input_ids=sources,
            attention_mask=(sources != 0).long(),
            num_beams=beams,
            do_sample=False,
            logits_processor=LogitsProcessorList([Ending(lengths.repeat_interleave(beams))]),
            max_new_tokens=int(lengths.max()),
            eos_token_id=EOS,
            use_cache=True,
        )
        ends = (output[:, 1:] == EOS).int()  # without BOS
        return int((ends.argmax(1) + 1).sum())

    return search


if __name__ == "__main__":
    serve(make)
