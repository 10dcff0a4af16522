"""Dev loss after an epoch: regard beside torch's own modules, on the same batches in the same order; a Markdown table.

python benchmarks/quality.py [--seeds 2] [--threads 2] [--model LSTM] [--source FILE --target FILE]

Sizes, dropout, rate (Adam, 1e-3, no warm-up), label smoothing and clipping are the same; the initial weights
differ. The loss is that of the last 1,000 pairs, which are held out, without dropout or smoothing.
"""

from __future__ import annotations

import argparse
import statistics

import torch
from _machine import machine
from _plain import plain_model, plain_step
from torch import nn
from torch.nn import functional as F
from training import BATCH_TOKENS, MODELS, TRAINING, some_examples, text_arguments

from regard.config import plan_model, settle
from regard.data import Batch, encode_pairs, make_batch, plan
from regard.data.tokenizer import PAD
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.threads import configure_torch
from regard.training.loop import update
from regard.training.microbatches import accumulate
from regard.training.state import new_state

HELD_OUT, RATE = 1000, 1e-3


def main() -> None:
    options = _options()
    if options.source is None:
        print("## Quality after an epoch: left out without --source FILE --target FILE")
        return
    threads = configure_torch(options.threads)
    examples, tokenizer = some_examples(options)
    train, dev = (encode_pairs(some, tokenizer, tokenizer)[0] for some in (examples[:-HELD_OUT], examples[-HELD_OUT:]))
    held_out = [make_batch(dev, rows) for rows in plan(dev, BATCH_TOKENS, seed=1, epoch=0)]
    print(f"## Quality after an epoch of {len(train):,} pairs: dev loss\n")
    print(f"{machine()}; {threads} threads; means of {options.seeds} seeds (range)\n")
    print("| model | regard | torch's own modules |\n|---|---:|---:|")
    for name, fields in MODELS.items():
        if options.model not in name:
            continue
        losses: list[tuple[float, float]] = []
        for seed in range(1, options.seeds + 1):
            batches = [make_batch(train, rows) for rows in plan(train, BATCH_TOKENS, seed, epoch=0)]
            losses.append(tuple(_loss(model, held_out) for model in _both(fields, tokenizer.size, batches, seed)))
        print(f"| {name} | " + " | ".join(map(_cell, zip(*losses, strict=True))) + " |", flush=True)


def _both(fields: dict[str, object], size: int, batches: list[Batch], seed: int) -> tuple[nn.Module, nn.Module]:
    """The two models after a step on each batch. Their LSTM has three embedding tables, so ours has too."""
    tied = fields["preset"] == "transformer"
    config = plan_model(settle({"model": {**fields, "tied_embeddings": tied}}).model)
    state = new_state(fuse(build_model(config, size, size, True, seed)), TRAINING)
    torch.manual_seed(seed)
    plain = plain_model(fields, size)
    step = plain_step(plain, RATE)
    for batch in batches:
        update(state, accumulate(state.model, [batch], TRAINING.label_smoothing), RATE, TRAINING)
        step(vars(batch))
    return state.model, plain


def _loss(model: nn.Module, batches: list[Batch]) -> float:
    """Of a target token, in nats."""
    model.eval()
    total, tokens = 0.0, 0
    with torch.inference_mode():
        for batch in batches:
            logits = model(batch.source, batch.source_mask, batch.target_in)
            target = batch.target_out.flatten()
            total += float(F.cross_entropy(logits.flatten(0, 1), target, ignore_index=PAD, reduction="sum"))
            tokens += batch.token_count
    return total / tokens


def _cell(losses: tuple[float, ...]) -> str:
    spread = f" ({min(losses):.3f} to {max(losses):.3f})" if len(losses) > 1 else ""
    return f"{statistics.mean(losses):.3f}{spread}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--model", default="", help="only models with this in their name")
    text_arguments(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
