"""Decoding speed of a trained Transformer or LSTM with additive attention, interleaved: one Markdown table each.

python benchmarks/decoding.py [RUN SOURCES] [--beside RUN] [--rounds 3] [--sentences 1000] [--peers FOLDER]

Without a run, a Transformer and then an LSTM are trained on dates first. Our engines have the same weights, except
those of --beside (a student and its teacher). CTranslate2 by hand: its Translator called on token lists, as a user
would who converted the model; in a second row with all options that we set. A peer has random weights of the same size
and generates as many tokens for each sentence as the model's greedy search; its environment is made where there is
none. In bulk it takes sentences sorted by length, in the fastest batch size. A peer that fails is named on stderr and
left out. One at a time takes a tenth of the sentences. An LSTM of ours whose query includes the token (model.query)
computes a little more than its peers.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _environments import EOLE, FOLDER, JOEYNMT, TRANSFORMERS, Environment, LeftOutError, interpreter, leave_out
from _machine import machine
from _rounds import spread
from _worker_process import WorkerProcess

import regard
from regard.config import ModelPlan, merge, read_recipe
from regard.data.files import read_lines
from regard.data.tokenizer import EOS
from regard.inference.ctranslate2.conversion import built_model, why_not
from regard.inference.ctranslate2.decoder import PATIENCE
from regard.pipeline import Translator
from regard.threads import limit_threads

HERE = Path(__file__).resolve().parent
LONGEST = 500  # tokens that a peer generates at most
SIZES = (32, 64, 128, 256)
Translate = Callable[[list[str], int], object]  # texts and beams
Ask = Callable[[list[str], int, int], None]  # texts, beams, batch size
MODES = (
    ("greedy, one at a time", 1, True),
    ("greedy, bulk", 1, False),
    ("beam 5, one at a time", 5, True),
    ("beam 5, bulk", 5, False),
)


DATES: tuple[dict[str, Any], ...] = (  # what is trained where no run is given: changes of the recipe
    {},
    {
        "model": {"preset": "lstm-additive", "depth": 1},
        "training": {"steps": 200, "evaluate_every": 200},
    },
)


@dataclass(frozen=True)
class Peer:
    name: str
    environment: Environment
    script: str
    model: str


PEERS = (
    Peer("transformers", TRANSFORMERS, "_search_marian.py", "transformer"),
    Peer("JoeyNMT", JOEYNMT, "_search_joey.py", "lstm-additive"),
    Peer("eole", EOLE, "_search_eole.py", "lstm-additive"),
)


def main() -> None:
    options = _options()
    if options.run:
        try:
            _measure(options.run, list(read_lines(options.sources))[: options.sentences], options)
        except (regard.UserError, OSError) as error:
            sys.exit(str(error))
        return
    with tempfile.TemporaryDirectory() as folder:
        for run in trained_runs(Path(folder), options.steps):
            _measure(run, test_sources(run)[: options.sentences], options)


def trained_runs(folder: Path, steps: int | None) -> list[str]:
    """Models trained on dates, for so many steps (None: as the recipe says)."""
    changed = {} if steps is None else {"training": {"steps": steps}}
    trees = [merge(read_recipe("dates"), changes, changed) for changes in DATES]
    return [str(regard.train(tree, folder / str(index)).path) for index, tree in enumerate(trees)]


def test_sources(run: str) -> list[str]:
    return [example.source for example in load_model(run, "torch").run.examples("test")]


def _measure(run: str, texts: list[str], options: argparse.Namespace) -> None:
    model = load_model(run, "torch")
    with ExitStack() as stack:
        engines = own_engines(run, "regard", texts) | by_hand_engines(model, texts)
        versions = enter_peers(engines, model, texts, Path(options.peers).expanduser(), stack)
        for other in options.beside:
            engines |= own_engines(other, other, texts)
        packages = ("ctranslate2",) if any("ctranslate2" in name.lower() for name in engines) else ()
        speeds = _speeds(engines, texts, options.rounds)
    print(f"## Decoding, {model.run.plan.model.preset}: {len(texts):,} sentences, sentences a second\n")
    medians = f"2 threads; medians of {options.rounds} interleaved rounds (range)\n"
    print("; ".join([machine(*packages), *versions, medians]))
    print("| | " + " | ".join(name for name, _, _ in MODES) + " |\n|---|" + "---:|" * len(MODES))
    for name, columns in speeds.items():
        print(f"| {name} | " + " | ".join(map(spread, columns)) + " |")
    print(flush=True)


def _speeds(engines: dict[str, Translate], texts: list[str], rounds: int) -> dict[str, list[list[float]]]:
    """Sentences a second of every engine that finished: for each mode, a number a round."""
    speeds: dict[str, list[list[float]]] = {name: [[] for _ in MODES] for name in engines}
    for _ in range(rounds):
        for mode, (_, beams, single) in enumerate(MODES):
            some = texts[::10] if single else texts
            for name in list(speeds):
                try:
                    speeds[name][mode].append(sentence_rate(engines[name], some, beams, single))
                except LeftOutError as error:
                    leave_out(name, error)
                    del speeds[name]
    return speeds


def sentence_rate(translate: Translate, texts: list[str], beams: int, single: bool) -> float:
    """Sentences a second; `single`: one at a time."""
    start = time.perf_counter()
    for part in [[text] for text in texts] if single else [texts]:
        translate(part, beams)
    return len(texts) / (time.perf_counter() - start)


def enter_peers(
    engines: dict[str, Translate], model: Translator, texts: list[str], folder: Path, stack: ExitStack
) -> list[str]:
    """Adds the peers that have such a model to the engines; returns their versions."""
    results = model.translate_all(texts, model.search_with(beams=1))
    lengths = {text: min(len(result.tokens) + 1, LONGEST) for text, result in zip(texts, results, strict=True)}
    fields, versions = _fields(model), []
    for peer in PEERS:
        try:
            if fields["preset"] != peer.model:
                raise LeftOutError(f"it is compared with models like {peer.model}, which this is not")
            python = interpreter(peer.environment, folder)
            command = [str(python.path), str(HERE / peer.script), json.dumps(fields)]
            ask = _requests(stack.enter_context(WorkerProcess(command)), model, lengths)
            sizes = {beams: _fastest(ask, texts[:256], beams) for beams in (1, 5)}
        except LeftOutError as error:
            leave_out(peer.name, error)
            continue
        name = f"{peer.name}, batches of {sizes[1]} and {sizes[5]}"
        engines[name] = lambda texts, beams, ask=ask, sizes=sizes: ask(texts, beams, sizes[beams])
        versions.append(python.versions)
    return versions


def by_hand_engines(model: Translator, texts: list[str]) -> dict[str, Translate]:
    """CTranslate2 where it takes the model, warmed up."""
    if why_not(model.run.plan.model, model.model):
        return {}
    engines = {f"CTranslate2 by hand, {precision}": _by_hand(model, precision) for precision in ("float32", "int8")}
    engines["CTranslate2 by hand, float32, with our options"] = _by_hand(model, "float32", alike=True)
    for translate in engines.values():
        translate(texts[:8], 1)
    return engines


def own_engines(run: str, name: str, texts: list[str]) -> dict[str, Translate]:
    """Every engine of ours that takes the run's model, warmed up."""
    plain = load_model(run, "torch")
    fast = () if why_not(plain.run.plan.model, plain.model) else ("ctranslate2", "ctranslate2-int8")
    engines: dict[str, Translate] = {}
    for engine in ("torch", *fast):
        model = load_model(run, engine)
        engines[f"{name}, {engine}"] = _ours(model)
        if model.run.lexicon is not None:
            engines[f"{name}, {engine}, shortlist"] = _ours(model, short_list=True)
    for translate in engines.values():
        translate(texts[:8], 1)
    return engines


def load_model(run: str, engine: str) -> Translator:
    model = regard.load(run, 2, engine=engine)  # pyrefly: ignore[bad-argument-type]
    assert isinstance(model, Translator)
    return model


def _ours(model: Translator, short_list: bool = False) -> Translate:
    return lambda texts, beams: model.translate_all(texts, model.search_with(beams=beams, short_list=short_list))


def _by_hand(model: Translator, precision: str, alike: bool = False) -> Translate:
    """alike: with scores, and with our patience for finished hypotheses."""
    import ctranslate2

    built = built_model(model.model, model.run.plan.model, model.run.path, precision)  # pyrefly: ignore
    with limit_threads():  # torch runs in this process, too
        translator = ctranslate2.Translator(str(built), "cpu", inter_threads=2, intra_threads=1)

    def translate(texts: list[str], beams: int) -> object:
        sources = [[*map(str, ids), str(EOS)] for ids in model.source_codec.encode_batch(texts)]
        results = translator.translate_batch(
            sources,
            max_batch_size=1024,
            batch_type="tokens",
            beam_size=beams,
            patience=PATIENCE if alike and beams > 1 else 1.0,
            return_scores=alike,
        )
        return [model.target_codec.decode([int(token) for token in result.hypotheses[0]]) for result in results]

    return translate


def _fields(model: Translator) -> dict[str, Any]:
    """The fields by which a peer builds a model of the same size."""
    config = model.run.plan.model
    fields = {"width": config.width, "depth": config.depth, "heads": config.heads, "dropout": 0.0}
    fields |= {"ffn_width": config.ffn_width or 4 * config.width, "longest": LONGEST}
    return {**fields, "preset": _preset(config), "size": model.target_codec.size}


def _preset(config: ModelPlan) -> str:
    """The peers' model that is like it; "none" where its sides differ in size or its parts are others."""
    if any(getattr(config, f"{side}_{size}") for side in ("encoder", "decoder") for size in ("width", "depth")):
        return "none"
    if config.is_transformer:
        return "transformer"
    parts = (config.encoder, config.decoder, config.cell, config.direction, config.context, config.score)
    return "lstm-additive" if parts == ("rnn", "rnn", "lstm", "both", "attention", "additive") else "none"


def _requests(peer: WorkerProcess, model: Translator, lengths: dict[str, int]) -> Ask:
    def ask(texts: list[str], beams: int, size: int) -> None:
        target_lengths = [lengths[text] for text in texts]
        answer = peer.ask(json.dumps([model.source_codec.encode_batch(texts), target_lengths, beams, size]))
        if answer != str(sum(target_lengths)):
            raise LeftOutError(f"it answered {answer!r}, not {sum(target_lengths)} tokens for {len(texts)} sentences")

    return ask


def _fastest(ask: Ask, texts: list[str], beams: int) -> int:
    """The batch size with which it is fastest."""
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
    parser.add_argument("--steps", type=int, default=None, help="of training on dates, for a trial")
    parser.add_argument("--peers", default=FOLDER, help="where their environments are")
    options = parser.parse_args()
    if options.run and not options.sources:
        parser.error(f"{options.run} needs sources to translate: a file with one a line")
    return options


if __name__ == "__main__":
    main()
