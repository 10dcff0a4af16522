"""What every peer that decodes does: make its model, then write a translation for each source of each line it is sent.

Needs torch alone: python PEER.py MODEL-AS-JSON; a line is [sources, lengths, beams, sentences in a batch] as JSON. The
weights are random and would stop at once or never, so every translation has as many tokens as its length says; a peer
that cannot be told so for each is sent equal ones, which are the model's field `written`.
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
