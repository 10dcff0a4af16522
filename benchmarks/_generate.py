"""transformers' generate, for benchmarks/decoding.py: reads [sources, beams] as JSON; answers when done."""

from __future__ import annotations

import json
import sys

import torch
from _marian import marian

BATCH = 64


def main() -> None:
    fields = json.loads(sys.argv[1])
    torch.set_num_threads(2)
    torch.manual_seed(1)
    model = marian(fields).eval()
    print("ready", flush=True)
    for line in sys.stdin:
        sources, beams = json.loads(line)
        sources.sort(key=len)
        for start in range(0, len(sources), BATCH):
            rows = [[*row, 2] for row in sources[start : start + BATCH]]
            longest = max(map(len, rows))
            ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
            with torch.inference_mode():
                model.generate(
                    input_ids=ids,
                    attention_mask=(ids != 0).long(),
                    num_beams=beams,
                    do_sample=False,
                    min_new_tokens=fields["written"],
                    max_new_tokens=fields["written"],
                    use_cache=True,
                )
        print("done", flush=True)


if __name__ == "__main__":
    main()
