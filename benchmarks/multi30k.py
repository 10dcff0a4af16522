"""Multi30k en→de beside the published numbers: recipes from scratch, several seeds, mean and spread.

python benchmarks/multi30k.py FOLDER [--seeds 1 2 3] [--model transformer] [--raw] [--out runs/multi30k] [--steps N]
    [--one-core] [--ensemble]

FOLDER holds train, val and test_2016_flickr .tok.en.gz and .tok.de.gz: lowercased Moses tokens. BLEU is sacreBLEU's
with `tokenize=none` on them, as the papers report it (they search with beam 5). With --raw the text as people write it,
.en.gz and .de.gz, and BLEU as sacreBLEU has it by default; no paper's number is comparable. A run takes most of an hour
on two cores, a student a quarter of that after its teacher. A finished run is not trained again, an interrupted one is
resumed. With --one-core a run uses one core, for about 1.75 times as long: two seeds can be trained side by side. With
--ensemble also the ensemble of all seeds. All choices were made on the validation set, of tokens.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

import regard
from regard.checkpoint import is_run, read_facts, read_plan
from regard.config import settle
from regard.evaluation.report import TranslationReport
from regard.experiment.distill import taught

SPLITS = {"": "train", "dev_": "val", "test_": "test_2016_flickr"}
PIECES = {"kind": "bpe", "size": 4000, "shared": True}
# As published; and what dev prefers with some models:
# docs/experiments/multi30k-transformer.md#a-wider-beam-and-a-length-penalty
SEARCHES: tuple[dict[str, Any], ...] = (
    {"beams": 5, "length_penalty": 1.0},
    {"beams": 8, "length_penalty": 1.3},
)
TRAINING = {
    "optimizer": "muon",
    "schedule": "cosine",
    "warmup_steps": 400,
    "label_smoothing": 0.1,
    "batch_tokens": 2048,
    "metric": "bleu",
    "patience": 99,
    "average": 5,
    "threads": 1,
    "microbatches": 2,
}
TINY = {
    "preset": "transformer",
    "width": 128,
    "depth": 4,
    "heads": 4,
    "ffn_width": 256,
    "positions": "rotary",
    "dropout": 0.3,
    "ffn_dropout": 0.0,
}
SHORT = {
    **TRAINING,
    "rate": 6e-3,
    "muon_size": 0.1,
    "weight_decay": 0.08,
    "steps": 7000,
    "warmup_steps": 300,
    "evaluate_every": 700,
}
LSTM = {"preset": "lstm-additive", "width": 256, "depth": 1, "query": "state-and-token"}
PLAIN = {**TRAINING, "optimizer": "adam", "rate": 2e-3, "microbatches": 1, "threads": 2}
RECIPES: dict[str, tuple[float, dict[str, Any]]] = {  # the published BLEU, and the recipe that is to reach it
    "transformer": (
        41.02,
        {
            "tokenizer": PIECES,
            "model": TINY,
            "training": {
                **TRAINING,
                "rate": 6e-3,
                "muon_size": 0.1,
                "weight_decay": 0.0,
                "steps": 17_000,
                "evaluate_every": 680,
            },
        },
    ),
    # 54 minutes of two slow cores, 93 of one: docs/experiments/multi30k-transformer.md#more-dropout-and-more-steps
    "transformer-short": (
        41.02,
        {
            "tokenizer": {**PIECES, "size": 8000},
            "model": {**TINY, "dropout": 0.25},
            "training": SHORT,
        },
    ),
    "transformer-student": (  # a decoder of one layer, initialised from the teacher and trained on its outputs
        41.02,
        {
            "teacher": "transformer-short",
            "tokenizer": {},
            "model": {"preset": "transformer-deep-shallow", "encoder_depth": 4, "dropout": 0.2},
            "training": {**SHORT, "steps": 5000, "warmup_steps": 100, "evaluate_every": 500},
        },
    ),
    "lstm-additive": (
        37.33,
        {
            "tokenizer": PIECES,
            "model": {**LSTM, "encoder_width": 512, "dropout": 0.35},
            "training": {**PLAIN, "weight_decay": 0.3, "steps": 9000, "warmup_steps": 300, "evaluate_every": 500},
        },
    ),
    "lstm-additive-short": (
        37.33,
        {
            "tokenizer": {**PIECES, "size": 8000},
            "model": {**LSTM, "dropout": 0.2},
            "training": {
                **PLAIN,
                "microbatches": 2,  # docs/experiments/multi30k-lstm.md#the-published-number-in-21-minutes
                "threads": 1,
                "weight_decay": 0.25,
                "steps": 2300,
                "warmup_steps": 230,
                "evaluate_every": 230,
            },
        },
    ),
}


def main() -> None:
    options = _options()
    if options.folder is None:
        print("## Multi30k: left out without its files: python benchmarks/multi30k.py FOLDER")
        return
    chosen = {name: recipe for name, recipe in RECIPES.items() if options.model in (None, name)}
    print(f"## Multi30k en→de, test2016: BLEU of {'raw text' if options.raw else 'tokens'}\n")
    print(
        "| | search | published | "
        + " | ".join(f"seed {seed}" for seed in options.seeds)
        + f" | mean | chrF | minutes{' of one core' * options.one_core} |"
    )
    print("|---|---|---:|" + "---:|" * (len(options.seeds) + 3))
    for name, (published, recipe) in chosen.items():
        minutes = statistics.mean(_train(name, recipe, seed, options) for seed in options.seeds)
        runs = [_out(name, seed, options) for seed in options.seeds]
        for search in SEARCHES:
            alone = [_report([run], search, options) for run in runs]
            scores = [f"{report.bleu.value:.2f}" for report in alone]
            _row(name, search, "" if options.raw else str(published), alone, scores, f"{minutes:.0f}")
            if options.ensemble and len(runs) > 1:  # several models; the published ones are single
                _row(f"{name}, together", search, "", [_report(runs, search, options)], [""] * len(runs), "")


def _row(
    name: str,
    search: dict[str, Any],
    published: str,
    reports: list[TranslationReport],
    seeds: list[str],
    minutes: str,
) -> None:
    scores = [report.bleu.value for report in reports]
    spread = f" ± {statistics.stdev(scores):.2f}" if len(scores) > 1 else ""
    mean = f"{statistics.mean(scores):.2f}{spread}"
    chrf = f"{statistics.mean(report.chrf.value for report in reports):.1f}"
    searched = f"beam {search['beams']}, {search['length_penalty']}"
    print("| " + " | ".join([name, searched, published, *seeds, mean, chrf, minutes]) + " |", flush=True)


def _train(name: str, recipe: dict[str, Any], seed: int, options: argparse.Namespace) -> float:
    """The minutes that training took, without its teacher's."""
    folder, out = Path(options.folder), _out(name, seed, options)
    files = {
        f"{key}{side}": str(folder / f"{name}{'' if options.raw else '.tok'}.{language}.gz")
        for key, name in SPLITS.items()
        for side, language in (("source", "en"), ("target", "de"))
    }
    steps = {} if options.steps is None else {"steps": options.steps, "warmup_steps": min(300, options.steps)}
    cores = {"processes": 1, "threads": 1} if options.one_core else {}
    settings = {
        "tokenizer": recipe["tokenizer"],
        "data": files,
        "model": recipe["model"],
        "training": {**recipe["training"], "seed": seed, **steps, **cores},
    }
    if is_run(out):
        _expect(out, settings)
    if not (is_run(out) and read_facts(out)["status"] == "finished"):
        try:
            config = settle({} if is_run(out) else settings)
            if "teacher" in recipe and not is_run(out):
                _train(recipe["teacher"], RECIPES[recipe["teacher"]][1], seed, options)
                config, _ = taught(
                    config, [_out(recipe["teacher"], seed, options)], out.with_name(f"{out.name}-taught")
                )
            regard.train(config, out, resume=is_run(out))
        except regard.UserError as error:
            sys.exit(str(error))
    return read_facts(out)["results"]["seconds"] / 60


def _out(name: str, seed: int, options: argparse.Namespace) -> Path:
    return Path(options.out) / f"{name}-{'raw-' * options.raw}{seed}"


def _report(runs: list[Path], search: dict[str, Any], options: argparse.Namespace) -> TranslationReport:
    """Of one run, or of several as an ensemble, on the test set."""
    model = regard.load(runs[0], 2, engine="torch", ensemble=runs[1:])
    assert isinstance(model, regard.Translator)
    tokenize = None if options.raw else "none"
    report = model.evaluate(model.run.examples("test"), model.search_with(**search), tokenize=tokenize)
    assert isinstance(report, TranslationReport)
    return report


def _expect(out: Path, settings: dict[str, Any]) -> None:
    """Refuses a run of another recipe."""
    config = read_plan(out)
    for section in ("tokenizer", "model", "training"):
        for key, value in settings[section].items():
            stored = getattr(getattr(config, section), key)
            if stored != value:
                sys.exit(f"{out} was trained with {section}.{key} = {stored!r}, not {value!r}; choose another --out")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="which, not how many")
    parser.add_argument("--model", choices=RECIPES, default=None, help="this recipe alone")
    parser.add_argument("--raw", action="store_true", help="text as people write it instead of lowercased tokens")
    parser.add_argument("--out", default="runs/multi30k")
    parser.add_argument("--steps", type=int, default=None, help="instead of the recipe's, for a trial")
    parser.add_argument("--one-core", action="store_true", help="a process of one thread")
    parser.add_argument("--ensemble", action="store_true", help="also the ensemble of all seeds")
    return parser.parse_args()


if __name__ == "__main__":
    main()
