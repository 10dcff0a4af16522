"""The worker of every system: loads the batches, builds its model, and trains the steps once for each line of input.

It needs only numpy and torch, so that it runs in any peer's environment: python SYSTEM.py DATA.npz MODEL-AS-JSON
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from _memory import peak_mebibytes
from torch import Tensor
from torch.nn import functional as F

Batch = dict[str, Tensor]  # source, source_mask, target_in, target_out: (B, S), (B, S), (B, T), (B, T); 0 is padding
Step = Callable[[Batch], int]  # the real target tokens that it trained on


def serve(make: Callable[[dict[str, Any]], Step], threads: int = 2) -> None:
    """Answers each line with the target tokens a second over all batches but the first, and the peak memory of
    its processes in MiB."""
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    batches, model = read_batches(sys.argv[1]), json.loads(sys.argv[2])
    step = make(model)
    step(batches[0])
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        tokens = sum(step(batch) for batch in batches[1:])
        print(tokens / (time.perf_counter() - start), peak_mebibytes(os.getpid()), flush=True)


def read_batches(path: str) -> list[Batch]:
    stored = np.load(path)
    count = len({name.split("/")[0] for name in stored.files if name[0].isdigit()})
    kinds = ("source", "source_mask", "target_in", "target_out")
    return [{kind: torch.from_numpy(stored[f"{index}/{kind}"]) for kind in kinds} for index in range(count)]


def torch_step(model: torch.nn.Module, logits: Callable[[Batch], Tensor], rate: float = 1e-4) -> Step:
    """The usual step: cross entropy with smoothed labels, backward, clip, Adam."""
    adam = torch.optim.Adam(model.parameters(), lr=rate)

    def step(batch: Batch) -> int:
        predicted = logits(batch)
        target = batch["target_out"].flatten()
        loss = F.cross_entropy(predicted.flatten(0, 1), target, ignore_index=0, label_smoothing=0.1)
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        return int((target != 0).sum())

    return step
