"""Training tokens/s and decoding sentences/s of every preset on dates, interleaved, medians: one Markdown table.

python benchmarks/families.py [--rounds 3] [--steps 5] [--threads 2]
"""

from __future__ import annotations

import argparse
import time

from _machine import machine
from _rounds import spread

from regard.config import PRESETS, DataSettings, SearchSettings, TrainingPlan, plan_model, settle
from regard.data import Pairs, Tokenizer, encode_pairs, load_corpus, make_batch, plan
from regard.inference import decode
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.models.seq2seq import Model
from regard.threads import configure_torch
from regard.training.loop import update
from regard.training.microbatches import accumulate
from regard.training.state import TrainingState, new_state

WIDTH, BATCH_TOKENS, DECODED = 128, 4096, 200
TRAINING = TrainingPlan(rate=1e-3, warmup_steps=1, batch_tokens=BATCH_TOKENS, label_smoothing=0.1)


def main() -> None:
    options = _options()
    threads = configure_torch(options.threads)
    corpus = load_corpus(DataSettings(corpus="dates", examples=5000))
    texts = [text for example in corpus.train for text in (example.source, example.target)]
    tokenizer = Tokenizer.train(texts, "word", 2000)
    pairs, _ = encode_pairs(corpus.train, tokenizer, tokenizer)
    sources = tokenizer.encode_batch([example.source for example in corpus.test[:DECODED]])
    models = {name: _model(name, tokenizer.size) for name, preset in PRESETS.items() if _generates_text(preset.fields)}
    rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in models}
    for _ in range(options.rounds):
        for name, state in models.items():
            trained = _train(state, pairs, options.steps)
            rows[name].append((trained, *(_decode(state.model, sources, beams) for beams in (1, 5))))
    print(f"## Families: dates en-fr, width {WIDTH}, batches of {BATCH_TOKENS} tokens\n")
    print(f"{machine()}; {threads} threads; medians of {options.rounds} interleaved rounds (range)\n")
    print("| preset | parameters | training, target tokens/s | greedy, sentences/s | beam 5, sentences/s |")
    print("|---|---:|---:|---:|---:|")
    for name, measured in rows.items():
        size = sum(parameter.numel() for parameter in models[name].model.parameters())
        print(f"| `{name}` | {size:,} | " + " | ".join(map(spread, zip(*measured, strict=True))) + " |")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=None)
    return parser.parse_args()


def _generates_text(fields: dict[str, object]) -> bool:
    return fields.get("decoder") != "none" and fields.get("encoder") not in ("grid", "patches")


def _model(name: str, size: int) -> TrainingState:
    config = plan_model(settle({"model": {"preset": name, "width": WIDTH, "dropout": 0.1}}).model)
    return new_state(fuse(build_model(config, size, size, True, seed=1)), TRAINING)


def _train(state: TrainingState, pairs: Pairs, steps: int) -> float:
    batches = [make_batch(pairs, rows) for rows in plan(pairs, BATCH_TOKENS, seed=1, epoch=0)[: steps + 1]]
    update(state, accumulate(state.model, batches[:1], TRAINING.label_smoothing), 1e-4, TRAINING)
    start = time.perf_counter()
    for batch in batches[1:]:
        update(state, accumulate(state.model, [batch], TRAINING.label_smoothing), 1e-4, TRAINING)
    return sum(batch.token_count for batch in batches[1:]) / (time.perf_counter() - start)


def _decode(model: Model, sources: list[list[int]], beams: int) -> float:
    start = time.perf_counter()
    decode(model, sources, SearchSettings(beams=beams, max_tokens=12))
    return len(sources) / (time.perf_counter() - start)


if __name__ == "__main__":
    main()
