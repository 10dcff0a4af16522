"""What every peer that decodes does: make its model, then write a translation for each source of each line it is sent.

Needs torch alone: python PEER.py MODEL-AS-JSON; a line is [sources, beams, sentences in a batch] as JSON. The weights
are random and would stop at once or never, so every translation has as many tokens as the model's field `written` says.
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
Search = Callable[[Tensor, int], int]  # sources (B, S), longest first, and beams: the tokens of its best translations


def serve(make: Callable[[dict[str, Any]], Search]) -> None:
    """Answers each line with how many tokens were written."""
    torch.set_num_threads(2)
    torch.manual_seed(1)
    fields = json.loads(sys.argv[1])
    search, last = make(fields), fields["size"] - 1  # ids of a larger source vocabulary all become the last one
    print("ready", flush=True)
    for line in sys.stdin:
        sources, beams, size = json.loads(line)
        sources.sort(key=len, reverse=True)
        tokens = 0
        for start in range(0, len(sources), size):
            rows = [torch.tensor([*row, EOS]).clamp(max=last) for row in sources[start : start + size]]
            with torch.inference_mode():
                tokens += search(pad_sequence(rows, batch_first=True), beams)
        print(tokens, flush=True)
