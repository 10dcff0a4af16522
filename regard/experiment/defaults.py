"""What an open setting becomes, by the corpus: each value with the reason for it."""

from __future__ import annotations

import math

from regard.config import ModelPlan, TokenizerPlan, TrainingSettings
from regard.config.check import check_model
from regard.config.values import IMAGE_ENCODERS
from regard.data.corpus import Corpus
from regard.data.inventory import Inventory
from regard.errors import UserError
from regard.experiment.choice import Choice, Choices
from regard.experiment.corpus_statistics import CorpusStatistics, count_words
from regard.experiment.goal import Goal
from regard.experiment.step_time import StepTime, Workload
from regard.experiment.tokenizer_defaults import SPELT
from regard.training.distributed import torchrun_world_size

IMAGES = set(IMAGE_ENCODERS)
# The epochs in which weights fade by their decay, and the most that was of use:
# docs/experiments/multi30k-transformer.md#weight-decay-on-all-pairs
FADING_EPOCHS, MOST_DECAY = 8, 0.3
# What a run and its steps must take for two microbatches, so for two processes, to pay:
# docs/experiments/training-speed.md#two-processes
LONG_SECONDS, HEAVY_SECONDS = 120, 0.25


def choose_languages(corpus: Corpus) -> Choices:
    """Of sources and targets, where the corpus knows them."""
    if corpus.languages is None:
        return {}
    source, target = (Choice(language, "its language") for language in corpus.languages)
    return {"source_language": source, "target_language": target}


def choose_preset(corpus: Corpus, goal: Goal) -> Choice:
    """The corpus names one; of short strings an LSTM that attends learns more in less time."""
    if goal == "strings" and corpus.model == "transformer":  # docs/experiments/short-strings.md#sounds-of-8000-words
        return Choice("lstm-additive", "strings: learned in fewer epochs than by a Transformer")
    return Choice(corpus.model, "what suits this corpus")


def choose_model(
    model: ModelPlan,
    fixed: frozenset[str],
    workload: Workload,
    statistics: CorpusStatistics,
    goal: Goal,
    training: TrainingSettings,
) -> Choices:
    """Width and dropout by how much there is to learn from, positions by what is learned. `fixed`: fields of the model
    that are set already."""
    attends = bool({"transformer", "convolution", "grid", "patches"} & {model.encoder, model.decoder})
    sources = f"{statistics.different:,} different sources"
    wide, why = _wide(model, workload, statistics, attends, training), ("no more pays", "time for it")
    if goal == "strings" and model.encoder == "rnn":
        wide, why = True, ("", "strings")
    choices = {
        "width": Choice(256 if wide else 128, f"{sources}, {why[wide]}"),
        "dropout": Choice(_dropout(goal, statistics, attends), f"{goal}, {sources}"),
    }
    if {"transformer", "patches"} & {model.encoder, model.decoder}:
        # as in Vaswani 2017: docs/experiments/multi30k-transformer.md#a-higher-rate-for-embeddings
        if goal == "sentences":
            choices["ffn_dropout"] = Choice(0.0, "sentences")
        else:
            dropout = model.dropout if "dropout" in fixed else choices["dropout"].value
            choices["ffn_dropout"] = Choice(dropout, "as dropout")
    if goal != "sentences" or model.encoder in ("none", *IMAGE_ENCODERS):
        return choices
    model = model.model_copy(update={key: value for key, (value, _) in choices.items() if key not in fixed})
    if model.is_transformer and _can_rotate(model):
        # learn sentences in fewer epochs: docs/experiments/multi30k-transformer.md#fifth-try-rotary-positions
        choices["positions"] = Choice("rotary", "sentences")
    if model.has_recurrent_attention:
        # learns sentences in fewer epochs: docs/experiments/multi30k-lstm.md#queries-from-state-and-token
        choices["query"] = Choice("state-and-token", "sentences")
    return choices


def _wide(
    model: ModelPlan, workload: Workload, statistics: CorpusStatistics, attends: bool, training: TrainingSettings
) -> bool:
    """Whether twice the width, three times the work, pays: for most where there is time for it, too."""
    if not attends:
        return statistics.different >= 20_000
    wide = model.model_copy(update={"width": 256})
    return statistics.different >= 100_000 and StepTime.of(wide, workload, training).is_enough(training)


def _can_rotate(model: ModelPlan) -> bool:
    try:
        check_model(model.model_copy(update={"positions": "rotary"}))
    except UserError:
        return False
    return True


def choose_metric(model: ModelPlan, corpus: Corpus, statistics: CorpusStatistics) -> Choice:
    if model.decoder == "none":
        return Choice("accuracy", "classes")
    if corpus.task == "continuation":
        return Choice("loss", "continuations")
    unit = "symbols" if statistics.target.symbols else "characters"
    targets = f"targets of {statistics.target.length:.0f} {unit} in the mean"
    if statistics.target.length < 30:  # a short answer is right or wrong
        return Choice("exact", targets)
    return Choice("chrf", targets)  # suits every script


def _dropout(goal: Goal, statistics: CorpusStatistics, attends: bool) -> float:
    """Less where there is more to learn from. Rules, tasks with one right answer, are blurred by it in an RNN, but a
    Transformer without it memorises the examples (docs/experiments/tasks.md#addition). Short strings: Wu 2021, 4.2."""
    match goal:
        case "rules":
            return 0.1 if attends or statistics.different < 20_000 else 0.0
        case "strings":
            return 0.3 if statistics.different < 20_000 else 0.2 if statistics.different < 100_000 else 0.1
        case "classes":
            return 0.0
    return 0.3 if statistics.different < 10_000 else 0.2 if statistics.different < 100_000 else 0.1


def count_entries(model: ModelPlan, tokenizer: TokenizerPlan, corpus: Corpus, statistics: CorpusStatistics) -> int:
    """About how many the output layer will have: a size is what a tokenizer may have, not what it finds."""
    if model.decoder == "none":
        return len({example.target for example in corpus.train})
    _, kind = tokenizer.kinds
    if kind == "symbol" and statistics.target.symbols:
        return len(statistics.target.symbols)
    if kind in SPELT:
        return len(statistics.source.letters.keys() | statistics.target.letters.keys())
    if kind != "word":
        return tokenizer.size
    sides = ("source", "target") if tokenizer.shared else ("target",)
    return min(tokenizer.size, count_words(getattr(example, side) for example in corpus.train for side in sides))


def measure_workload(
    given: TrainingSettings,
    model: ModelPlan,
    tokenizer: TokenizerPlan,
    statistics: CorpusStatistics,
    goal: Goal,
    entries: int,
) -> Workload:
    sides = zip((statistics.source, statistics.target), tokenizer.kinds, strict=True)
    tokens = max(*(_tokens(side, kind, tokenizer.size) for side, kind in sides), statistics.cells)
    everything = statistics.pairs * tokens
    # sentences: as many tokens in twice the steps teach more
    # (docs/experiments/multi30k-transformer.md#third-try-smaller-batches)
    least, most = 512, 2048 if goal == "sentences" else 4096
    if goal == "strings" and not statistics.cells:  # Wu 2021, 4.1: characters want large batches
        least = 2048 if model.decoder == "transformer" else 1024
    batch_tokens = given.batch_tokens or min(max(2 ** round(math.log2(everything / 200)), least), most)
    return Workload(tokens, batch_tokens, everything / batch_tokens, entries)


def choose_training(
    given: TrainingSettings, model: ModelPlan, workload: Workload, metric: Choice, goal: Goal
) -> Choices:
    """How long and how fast, by what a step and an epoch take."""
    batch_tokens, batches = workload.batch_tokens, workload.batches
    text, captions = goal in ("sentences", "strings"), model.encoder in IMAGE_ENCODERS and model.decoder != "none"
    kind = "captions" if captions else goal
    step_time = StepTime.of(model, workload, given)
    steps = given.steps
    if steps is None and given.epochs is None and given.minutes is None:
        steps = step_time.steps()
    planned = min(steps or math.inf, math.inf if given.epochs is None else math.ceil(given.epochs * batches))
    known = 4000 if planned == math.inf else int(planned)  # only minutes are set: a guess
    optimizer = given.optimizer or ("muon" if (text or captions) and model.decoder == "transformer" else "adam")
    rate = given.rate or usual_rate(model, optimizer, batch_tokens)
    long = min(known * step_time.seconds, 60 * (given.minutes or math.inf)) >= LONG_SECONDS
    cosine = (text or captions) and planned < math.inf and given.minutes is None
    two = long and step_time.seconds >= HEAVY_SECONDS and given.threads is None
    guess = f"about {step_time.seconds:.2g} s a step"
    of_steps = f"of {known:,} steps" if planned < math.inf else "the steps are not known"
    return {
        "steps": Choice(steps, f"{(steps or 0) / batches:.0f} epochs, {guess}"),
        "batch_tokens": Choice(batch_tokens, f"{batches:.0f} batches in an epoch"),
        "optimizer": Choice(optimizer, f"{kind}, decoder {model.decoder}"),
        "rate": Choice(rate, f"{optimizer}, width {model.width}, batches of {batch_tokens:,} tokens"),
        "schedule": Choice("cosine" if cosine else "inverse-sqrt", f"{kind}, {of_steps.removeprefix('of ')}"),
        "warmup_steps": Choice(min(max(known // 10, 1), 1000), of_steps),
        "label_smoothing": Choice(0.1 if text else 0.0, kind),
        "weight_decay": Choice(_decay(rate, batches) if goal == "sentences" else 0.0, kind),
        "evaluate_every": Choice(min(max(known // 20, 50), 1000), of_steps),
        "metric": metric,
        "patience": Choice(6, "validations enough to tell"),
        "average": Choice(5 if text else 0, kind),
        "microbatches": _choose_microbatches(given, two, guess),
    }


def _choose_microbatches(given: TrainingSettings, two: bool, guess: str) -> Choice:
    processes = max(given.processes or 1, torchrun_world_size())
    if processes > 1:
        return Choice(processes, "as many as processes")
    return Choice(2 if two else 1, guess if given.threads is None else "threads are set")


def _tokens(side: Inventory, kind: str, size: int) -> float:
    """About how many tokens a text becomes, with the end mark; pieces as on Multi30k and Home Assistant."""
    if kind == "symbol":
        return side.length + 1
    pieces = max(3.9 + 0.5 * math.log2(size / 4000), 1.0)
    per_token = {"character": 1.0, "decomposed": 0.5, "word": 3.0}.get(kind, pieces)
    return side.characters / per_token + 1


def usual_rate(model: ModelPlan, optimizer: str, batch_tokens: int) -> float:
    """The highest learning rate of a model that begins with random weights."""
    kinds = {model.encoder, model.decoder}
    if optimizer == "muon" or {"transformer", "convolution", "patches"} & kinds:
        half = 0.5 if model.norm == "post" else 1.0
        if optimizer == "muon":  # measured at width 128
            peak = 6e-3 if batch_tokens <= 2048 else 8.5e-3
            if IMAGES & kinds:  # 64 captions in a batch; at width 64: docs/experiments/short-strings.md
                peak = 4.2e-3 if "grid" in kinds else 5.7e-3
            return float(f"{half * peak * math.sqrt(128 / model.width):.2g}")
        return float(f"{half * min(0.25 / model.width, 2e-3):.1g}")  # 1e-3 at width 256
    return 1e-3 if model.cell == "rnn" or "grid" in kinds else 2e-3


def _decay(rate: float, batches: float) -> float:
    """What was learned at the highest rate fades to 1/e in so many epochs: the more steps one has, the less at each."""
    return float(f"{min(1 / (FADING_EPOCHS * rate * batches), MOST_DECAY):.2g}")
