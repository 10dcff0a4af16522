"""What every peer that decodes does: make its model, then write a translation for each source of each line it is sent.

Needs torch alone: python PEER.py MODEL-AS-JSON; a line is [sources, lengths, beams, sentences in a batch] as JSON. The
weights are random and would stop at once or never, so every translation is made to end where its length says.
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
"""Sources (B, S), longest first, the lengths to be written (B,), and beams: the tokens of its best translations."""


def ended(scores: Tensor, ending: list[int], eos: int = EOS) -> Tensor:
    """Scores (R, V), changed in place, by which these rows end now, and the others do not."""
    scores[:, eos] = -torch.inf
    if ending:
        scores[ending] = -torch.inf
        scores[ending, eos] = 0.0
    return scores


class Ends:
    """Every row ends at a length of its own, EOS counted, not before and not after: as trained weights do. A search may
    move its rows about and let some go: they are known again by what they look at, their part of the encoder's
    outputs."""

    def __init__(self, eos: int = EOS) -> None:
        self._eos, self._lengths = eos, {}

    def begin(self, lengths: Tensor) -> None:
        """A search for rows of these lengths, in this order, begins."""
        self._told, self._step = lengths, 0

    def force(self, scores: Tensor, memory: Tensor) -> Tensor:
        """Logits or log-probabilities (R, V) of a step's next tokens, changed in place; memory (R, S, D), in which the
        first state has read the whole source."""
        seen = memory[:, 0, -1].tolist()
        if self._step == 0:
            self._lengths = dict(
                zip(seen, self._told.repeat_interleave(len(seen) // len(self._told)).tolist(), strict=True)
            )
        self._step += 1
        return ended(scores, [row for row, one in enumerate(seen) if self._lengths[one] <= self._step], self._eos)


def serve(make: Callable[[dict[str, Any]], Search]) -> None:
    """Answers each line with how many tokens were written."""
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
                wanted = torch.tensor([lengths[row] for row in chosen])
                tokens += search(pad_sequence(rows, batch_first=True), wanted, beams)
        print(tokens, flush=True)
