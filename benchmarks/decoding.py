"""Decoding speed of a trained Transformer or LSTM with additive attention, interleaved: one Markdown table.

python benchmarks/decoding.py [RUN SOURCES] [--beside RUN] [--rounds 3] [--sentences 1000] [--peers FOLDER]

Without a run, a Transformer is trained on dates first. Every engine of ours has the same weights, but for those of a
run that is put beside it (a student and its teacher). CTranslate2 by hand: its Translator called on token lists, as a
user would who converted the model. A peer, where its environment exists (benchmarks/peers.py makes it), has random
weights of the same size, and writes as many tokens for each sentence as the model does without a beam. In bulk it
takes sentences sorted by length, as many at once as was fastest. One at a time takes a tenth of the sentences. An LSTM
of ours whose tokens ask (model.query) does a little more than its peers.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import regard
from regard.config import ModelConfig
from regard.data.files import read_lines
from regard.data.tokenizer import EOS
from regard.decoding.conversion import built_model, why_not
from regard.pipeline import Translator

HERE = Path(__file__).resolve().parent
LONGEST = 500  # tokens that a peer is asked to write
SIZES = (32, 64, 128, 256)
Translate = Callable[[list[str], int], object]  # texts and beams
Ask = Callable[[list[str], int, int], None]  # texts, beams, and how many texts at once
MODES = (
    ("greedy, one at a time", 1, True),
    ("greedy, bulk", 1, False),
    ("beam 5, one at a time", 5, True),
    ("beam 5, bulk", 5, False),
)


@dataclass(frozen=True)
class Peer:
    name: str
    folder: str
    script: str
    models: tuple[str, ...]


PEERS = (
    Peer("transformers", "transformers", "_search_marian.py", ("transformer",)),
    Peer("JoeyNMT", "joeynmt", "_search_joey.py", ("lstm-additive",)),
    Peer("eole", "eole", "_search_eole.py", ("lstm-additive",)),
)


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        run = options.run or regard.train("dates", Path(folder) / "dates").path
        sources = (
            read_lines(options.sources)
            if options.run
            else (one.source for one in regard.load(run).run.examples("test"))
        )
        _measure(str(run), list(sources)[: options.sentences], options)


def _measure(run: str, texts: list[str], options: argparse.Namespace) -> None:
    engines = _engines(run, texts, Path(options.peers).expanduser())
    for other in options.beside:
        engines |= _own_engines(other, other, texts)
    print(f"## Decoding: {len(texts):,} sentences, sentences a second, 2 threads\n")
    print(
        f"{platform.processor() or platform.machine()}, torch {torch.__version__}; medians of {options.rounds} rounds\n"
    )
    print("| | " + " | ".join(name for name, _, _ in MODES) + " |\n|---|" + "---:|" * len(MODES))
    speeds: dict[str, list[list[float]]] = {name: [[] for _ in MODES] for name in engines}
    for _ in range(options.rounds):
        for place, (_, beams, single) in enumerate(MODES):
            some = texts[::10] if single else texts
            for name, translate in engines.items():
                start = time.perf_counter()
                for part in [[text] for text in some] if single else [some]:
                    translate(part, beams)
                speeds[name][place].append(len(some) / (time.perf_counter() - start))
    for name, columns in speeds.items():
        cells = (f"{statistics.median(one):,.0f} ({min(one):,.0f} to {max(one):,.0f})" for one in columns)
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def _engines(run: str, texts: list[str], peers: Path) -> dict[str, Translate]:
    model = _load(run, "torch")
    engines = _own_engines(run, "regard", texts)
    for precision in () if why_not(model.run.config.model, model.model) else ("float32", "int8"):
        by_hand = engines[f"CTranslate2 by hand, {precision}"] = _by_hand(model, precision)
        by_hand(texts[:8], 1)
    results = model.translate_all(texts, model.search_with(beams=1))
    lengths = {text: min(len(one.tokens) + 1, LONGEST) for text, one in zip(texts, results, strict=True)}
    fields = _fields(model)
    for peer in PEERS:
        python = peers / peer.folder / "bin" / "python"
        if fields["preset"] in peer.models and python.exists():
            ask = _asked(peer, python, model, fields, lengths)
            sizes = {beams: _fastest(ask, texts[:256], beams) for beams in (1, 5)}
            name = f"{peer.name}, batches of {sizes[1]} and {sizes[5]}"
            engines[name] = lambda texts, beams, ask=ask, sizes=sizes: ask(texts, beams, sizes[beams])
    return engines


def _own_engines(run: str, name: str, texts: list[str]) -> dict[str, Translate]:
    """Every engine of ours that takes the run's model, warmed up."""
    plain = _load(run, "torch")
    fast = () if why_not(plain.run.config.model, plain.model) else ("ctranslate2", "ctranslate2-int8")
    engines: dict[str, Translate] = {}
    for engine in ("torch", *fast):
        model = _load(run, engine)
        engines[f"{name}, {engine}"] = _ours(model)
        if model.run.lexicon is not None:
            engines[f"{name}, {engine}, short list"] = _ours(model, short_list=True)
    for translate in engines.values():
        translate(texts[:8], 1)
    return engines


def _load(run: str, engine: str) -> Translator:
    model = regard.load(run, 2, engine=engine)  # pyrefly: ignore[bad-argument-type]
    assert isinstance(model, Translator)
    return model


def _ours(model: Translator, short_list: bool = False) -> Translate:
    return lambda texts, beams: model.translate_all(texts, model.search_with(beams=beams, short_list=short_list))


def _by_hand(model: Translator, precision: str) -> Translate:
    import ctranslate2

    built = built_model(model.model, model.run.config.model, model.run.path, precision)  # pyrefly: ignore
    translator = ctranslate2.Translator(str(built), "cpu", inter_threads=2, intra_threads=1)

    def translate(texts: list[str], beams: int) -> object:
        sources = [[*map(str, ids), str(EOS)] for ids in model.source_tokenizer.encode_batch(texts)]
        found = translator.translate_batch(sources, max_batch_size=1024, batch_type="tokens", beam_size=beams)
        return [model.target_tokenizer.decode([int(token) for token in one.hypotheses[0]]) for one in found]

    return translate


def _fields(model: Translator) -> dict[str, Any]:
    """What a peer needs to know to make a model of the same size."""
    config = model.run.config.model
    fields = {"width": config.width, "depth": config.depth, "heads": config.heads, "dropout": 0.0}
    fields |= {"ffn_width": config.ffn_width or 4 * config.width, "longest": LONGEST}
    return {**fields, "preset": _preset(config), "size": model.target_tokenizer.size}


def _preset(config: ModelConfig) -> str:
    """Which model of the peers is like it; "none" where its sides differ in size, or its parts are others."""
    if any(getattr(config, f"{side}_{size}") for side in ("encoder", "decoder") for size in ("width", "depth")):
        return "none"
    if config.transforms:
        return "transformer"
    parts = (config.encoder, config.decoder, config.cell, config.direction, config.context, config.score)
    return "lstm-additive" if parts == ("rnn", "rnn", "lstm", "both", "attention", "additive") else "none"


def _asked(peer: Peer, python: Path, model: Translator, fields: dict[str, Any], lengths: dict[str, int]) -> Ask:
    command = [str(python), str(HERE / peer.script), json.dumps(fields)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    stdin, stdout = process.stdin, process.stdout
    while (line := stdout.readline()).strip() != "ready":
        if not line:
            sys.exit(f"{peer.name} did not start: {' '.join(command[:2])}")

    def ask(texts: list[str], beams: int, size: int) -> None:
        wanted = [lengths[text] for text in texts]
        stdin.write(json.dumps([model.source_tokenizer.encode_batch(texts), wanted, beams, size]) + "\n")
        stdin.flush()
        answer = stdout.readline().strip()
        if answer != str(sum(wanted)):
            sys.exit(f"{peer.name} wrote {answer or 'no'} tokens, not {sum(wanted)} for {len(texts)} sentences")

    return ask


def _fastest(ask: Ask, texts: list[str], beams: int) -> int:
    """How many sentences it had better take at once."""
    seconds: dict[int, float] = {}
    ask(texts[:8], beams, 8)
    for size in SIZES:
        start = time.perf_counter()
        ask(texts, beams, size)
        seconds[size] = time.perf_counter() - start
    return min(SIZES, key=seconds.__getitem__)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?")
    parser.add_argument("sources", nargs="?")
    parser.add_argument("--beside", action="append", default=[], help="another run, with the same sources")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--peers", default="~/.cache/regard/peers")
    options = parser.parse_args()
    if options.run and not options.sources:
        parser.error(f"{options.run} needs sources to translate: a file with one a line")
    return options


if __name__ == "__main__":
    main()
