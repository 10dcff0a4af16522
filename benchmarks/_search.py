"""The worker of every peer that decodes: builds its model, then translates the sources of each line of input.

It needs only torch: python PEER.py MODEL-AS-JSON; a line is [sources, lengths, beams, sentences in a batch] as JSON.
Random weights would stop after a token or never, so every translation is made to end at its given length.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

EOS = 2  # 0 is padding
Search = Callable[[Tensor, Tensor, int], int]
"""Sources (B, S), longest first, the target lengths (B,), and beams: the number of tokens of its best translations."""


def ended(scores: Tensor, ending: list[int], eos: int = EOS) -> Tensor:
    """Scores (R, V), changed in place: the rows of `ending` end at this step, the others do not."""
    scores[:, eos] = -torch.inf
    if ending:
        scores[ending] = -torch.inf
        scores[ending, eos] = 0.0
    return scores


class Ends:
    """Every row ends at its own length, EOS counted. A search may reorder and drop rows, so a row is recognised by
    its part of the encoder's outputs."""

    def __init__(self, eos: int = EOS) -> None:
        self._eos, self._lengths = eos, {}

    def begin(self, lengths: Tensor) -> None:
        """Start of a search for rows of these lengths, in this order."""
        self._given, self._step = lengths, 0

    def force(self, scores: Tensor, memory: Tensor) -> Tensor:
        """Logits or log-probabilities (R, V) of a step's next tokens, changed in place; memory (R, S, D), whose
        first state depends on the whole source."""
        keys = memory[:, 0, -1].tolist()
        if self._step == 0:
            self._lengths = dict(
                zip(keys, self._given.repeat_interleave(len(keys) // len(self._given)).tolist(), strict=True)
            )
        self._step += 1
        return ended(scores, [row for row, key in enumerate(keys) if self._lengths[key] <= self._step], self._eos)


def serve(make: Callable[[dict[str, Any]], Search]) -> None:
    """Answers each line with the number of target tokens."""
    torch.set_num_threads(2)
    torch.manual_seed(1)
    fields = json.loads(sys.argv[1])
    search, last = make(fields), fields["size"] - 1  # ids of a larger source vocabulary all become the last one
    print("ready", flush=True)
    for line in sys.stdin:
        sources, lengths, beams, size = json.loads(line)
        order = sorted(range(len(sources)), key=lambda row: -len(sources[row]))
        tokens = 0
        for start in range(0, len(sources), size):
            chosen = order[start : start + size]
            rows = [torch.tensor([*sources[row], EOS]).clamp(max=last) for row in chosen]
            with torch.inference_mode():
                target_lengths = torch.tensor([lengths[row] for row in chosen])
                tokens += search(pad_sequence(rows, batch_first=True), target_lengths, beams)
        print(tokens, flush=True)
