"""Decoding speed of a trained Transformer, every engine with the same weights, interleaved: one Markdown table.

python benchmarks/decoding.py [RUN SOURCES] [--rounds 3] [--sentences 1000] [--peers ~/.cache/regard/peers]

Without a run, one is trained on dates first. CTranslate2 by hand: its Translator called on token lists, as a user would
who converted the model. transformers, where its environment exists (benchmarks/peers.py makes it), has random weights
of the same size and writes as many tokens as the model does on average. One at a time takes a tenth of the sentences.
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
from pathlib import Path

import torch

import regard
from regard.data.files import read_lines
from regard.data.tokenizer import EOS
from regard.decoding.conversion import built_model
from regard.pipeline import Translator

HERE = Path(__file__).resolve().parent
Translate = Callable[[list[str], int], object]  # texts and beams
MODES = (
    ("greedy, one at a time", 1, True),
    ("greedy, bulk", 1, False),
    ("beam 5, one at a time", 5, True),
    ("beam 5, bulk", 5, False),
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
    engines: dict[str, Translate] = {}
    for engine in ("torch", "ctranslate2", "ctranslate2-int8"):
        model = regard.load(run, 2, engine=engine)  # pyrefly: ignore[bad-argument-type]
        assert isinstance(model, Translator)
        engines[f"regard, {engine}"] = _ours(model)
        if engine != "torch":
            precision = "int8" if engine.endswith("int8") else "float32"
            engines[f"CTranslate2 by hand, {precision}"] = _by_hand(model, precision)
    for translate in engines.values():
        translate(texts[:8], 1)
    python = peers / "transformers" / "bin" / "python"
    if python.exists():
        results = regard.load(run, 2).translate_all(texts[:100], model.search_with(beams=1))
        written = round(statistics.mean(len(one.tokens) for one in results)) + 1
        engines["transformers, generate"] = _generate(python, model, written)
    return engines


def _ours(model: Translator) -> Translate:
    return lambda texts, beams: model.translate_all(texts, model.search_with(beams=beams))


def _by_hand(model: Translator, precision: str) -> Translate:
    import ctranslate2

    built = built_model(model.model, model.run.config.model, model.run.path, precision)  # pyrefly: ignore
    translator = ctranslate2.Translator(str(built), "cpu", inter_threads=2, intra_threads=1)

    def translate(texts: list[str], beams: int) -> object:
        sources = [[*map(str, ids), str(EOS)] for ids in model.source_tokenizer.encode_batch(texts)]
        found = translator.translate_batch(sources, max_batch_size=1024, batch_type="tokens", beam_size=beams)
        return [model.target_tokenizer.decode([int(token) for token in one.hypotheses[0]]) for one in found]

    return translate


def _generate(python: Path, model: Translator, written: int) -> Translate:
    config = model.run.config.model
    fields = {"width": config.width, "depth": config.depth, "heads": config.heads, "dropout": 0.0}
    fields |= {
        "ffn_width": config.ffn_width or 4 * config.width,
        "size": model.target_tokenizer.size,
        "written": written,
    }
    command = [str(python), str(HERE / "_generate.py"), json.dumps(fields)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    stdin, stdout = process.stdin, process.stdout
    if stdout.readline().strip() != "ready":
        sys.exit("transformers did not start")

    def translate(texts: list[str], beams: int) -> object:
        stdin.write(json.dumps([model.source_tokenizer.encode_batch(texts), beams]) + "\n")
        stdin.flush()
        return stdout.readline()

    return translate


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?")
    parser.add_argument("sources", nargs="?")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--peers", default="~/.cache/regard/peers")
    options = parser.parse_args()
    if options.run and not options.sources:
        parser.error(f"{options.run} needs sources to translate: a file with one a line")
    return options


if __name__ == "__main__":
    main()
