"""Settings that were left open, chosen by the corpus: each is written into the run's recipe and can be set by hand."""

from __future__ import annotations

import math
from typing import Any

from regard.config import ModelSettings, Settings, TokenizerSettings, TrainingSettings, preset_fields
from regard.config.check import check
from regard.config.settings import PICTURE_ENCODERS
from regard.data.corpus import Corpus
from regard.data.embedded import EMBEDDED
from regard.errors import UserError
from regard.experiment.corpus_statistics import CorpusStatistics, count_words, measure_captions, measure_text
from regard.experiment.step_time import StepTime, Workload
from regard.training.distributed import torchrun_world_size

SENTENCES = ("bleu", "chrf")  # metrics of texts that have many right answers
SIZES, MOST_PIECES = ((120_000, 1000), (480_000, 2000), (1_200_000, 4000)), 8000  # below so many characters: pieces
# The epochs in which weights fade by their decay, and the most that was of use:
# docs/experiments/multi30k-transformer.md#weight-decay-on-all-pairs
FADING_EPOCHS, MOST_DECAY = 8, 0.3
# What a run and its steps must take for two microbatches, so for two processes, to pay:
# docs/experiments/training-speed.md#two-processes
LONG_SECONDS, HEAVY_SECONDS = 120, 0.25


def complete(config: Settings, corpus: Corpus) -> Settings:
    """The configuration with every choice made. A pure function: the same corpus gives the same recipe."""
    config = _with_preset(config, corpus)
    statistics = measure_text(corpus.train) if corpus.images is None else measure_captions(corpus.train, config.model)
    suggested = corpus.tokenizer if config.data.corpus in EMBEDDED else TokenizerSettings()
    tokenizer = _tokenizer(config, suggested, statistics)
    metric = config.training.metric or _metric(config.model, corpus, statistics)
    entries = _entries(config.model, tokenizer, corpus, statistics)
    workload = _workload(config.training, tokenizer, statistics, metric, entries)
    model = _model(config, workload, statistics, metric)
    training = _training(config.training, model, tokenizer, workload, metric)
    return config.model_copy(update={"tokenizer": tokenizer, "model": model, "training": training})


def _with_preset(config: Settings, corpus: Corpus) -> Settings:
    """The architecture that the corpus is for, beneath the fields set by hand, where none was named."""
    given = config.model
    if given.names_architecture:
        return config
    fields = {**preset_fields(corpus.model), "preset": corpus.model, **given.model_dump(exclude_unset=True)}
    return config.model_copy(update={"model": ModelSettings.model_validate(fields)})


def _model(config: Settings, workload: Workload, statistics: CorpusStatistics, metric: str) -> ModelSettings:
    """Width and dropout by how much there is to learn from, positions by what is learned, where they are not set."""
    given = config.model
    attends = bool({"transformer", "convolution", "grid", "patches"} & {given.encoder, given.decoder})
    chosen: dict[str, Any] = {}
    if "width" not in given.model_fields_set:
        chosen["width"] = 256 if _wide(config, workload, statistics, attends) else 128
    if given.dropout is None:
        chosen["dropout"] = _dropout(metric, statistics, attends)
    if given.ffn_dropout is None and {"transformer", "patches"} & {given.encoder, given.decoder}:
        everywhere = chosen.get("dropout", given.dropout or 0.0)
        # none, as in Vaswani 2017: docs/experiments/multi30k-transformer.md#a-higher-rate-for-embeddings
        chosen["ffn_dropout"] = 0.0 if metric in SENTENCES else everywhere
    model = given.model_copy(update=chosen)
    if metric not in SENTENCES or model.encoder in ("none", *PICTURE_ENCODERS):
        return model
    if model.is_transformer and "positions" not in given.model_fields_set:
        return _turning(model)
    if model.has_recurrent_attention and "query" not in given.model_fields_set:
        # learns sentences in fewer epochs: docs/experiments/multi30k-lstm.md#queries-from-state-and-token
        return model.model_copy(update={"query": "state-and-token"})
    return model


def _wide(config: Settings, workload: Workload, statistics: CorpusStatistics, attends: bool) -> bool:
    """Whether twice the width, three times the work, pays: for most where there is time for it, too."""
    if not attends:
        return statistics.different >= 20_000
    wide = config.model.model_copy(update={"width": 256})
    return statistics.different >= 100_000 and StepTime.of(wide, workload, config.training).is_enough(config.training)


def _turning(model: ModelSettings) -> ModelSettings:
    """Rotary positions, where the model can have them: they learn sentences in fewer epochs
    (docs/experiments/multi30k-transformer.md#fifth-try-rotary-positions)."""
    turning = model.model_copy(update={"positions": "rotary"})
    try:
        check(Settings(model=turning))
    except UserError:
        return model
    return turning


def _tokenizer(config: Settings, suggested: TokenizerSettings, statistics: CorpusStatistics) -> TokenizerSettings:
    given = config.tokenizer
    short = statistics.longer < 25 and statistics.letters < 200
    by_text = "word" if statistics.cells else "character" if short else "bpe"  # captions name things, seldom new ones
    kind = given.kind or suggested.kind or by_text
    # the suggested size belongs to the suggested kind
    size = given.size or (suggested.size if kind == suggested.kind else None) or _size(kind, statistics)
    shared = next((s for s in (given.shared, suggested.shared) if s is not None), statistics.overlap > 0.8)
    if config.model.encoder == "none":
        shared = True
    elif config.model.encoder in PICTURE_ENCODERS or config.model.decoder == "none":
        shared = False
    return TokenizerSettings(kind=kind, size=size, shared=shared)


def _size(kind: str, statistics: CorpusStatistics) -> int:
    """Entries that are seen often enough to be learned; a small output layer is also what makes a CPU fast."""
    if kind == "character":
        return 8000
    size = next((size for characters, size in SIZES if statistics.text < characters), MOST_PIECES)
    return 2 * size if kind == "word" else size


def _metric(model: ModelSettings, corpus: Corpus, statistics: CorpusStatistics) -> str:
    if model.decoder == "none":
        return "accuracy"
    if corpus.task == "continuation":
        return "loss"
    return "exact" if statistics.target < 30 else "chrf"  # a short answer is right or wrong; chrF suits every script


def _dropout(metric: str, statistics: CorpusStatistics, attends: bool) -> float:
    """Less where there is more to learn from. Rules, tasks with one right answer, are blurred by it in an RNN, but a
    Transformer without it memorises the examples (docs/experiments/tasks.md#addition)."""
    if metric == "exact":
        return 0.1 if attends or statistics.different < 20_000 else 0.0
    return 0.3 if statistics.different < 10_000 else 0.2 if statistics.different < 100_000 else 0.1


def _entries(model: ModelSettings, tokenizer: TokenizerSettings, corpus: Corpus, statistics: CorpusStatistics) -> int:
    """About how many the output layer will have: a size is what a tokenizer may have, not what it finds."""
    if model.decoder == "none":
        return len({example.target for example in corpus.train})
    if tokenizer.kind == "character":
        return statistics.letters
    assert tokenizer.size is not None
    if tokenizer.kind != "word":
        return tokenizer.size
    sides = ("source", "target") if tokenizer.shared else ("target",)
    return min(tokenizer.size, count_words(getattr(example, side) for example in corpus.train for side in sides))


def _workload(
    given: TrainingSettings, tokenizer: TokenizerSettings, statistics: CorpusStatistics, metric: str, entries: int
) -> Workload:
    tokens = max(_tokens(statistics.longer, tokenizer), statistics.cells)
    everything = statistics.pairs * tokens
    # sentences: as many tokens in twice the steps teach more
    # (docs/experiments/multi30k-transformer.md#third-try-smaller-batches)
    most = 2048 if metric in SENTENCES else 4096
    batch_tokens = given.batch_tokens or min(max(2 ** round(math.log2(everything / 200)), 512), most)
    return Workload(tokens, batch_tokens, everything / batch_tokens, entries)


def _training(
    given: TrainingSettings, model: ModelSettings, tokenizer: TokenizerSettings, workload: Workload, metric: str
) -> TrainingSettings:
    batch_tokens, batches = workload.batch_tokens, workload.batches
    text = metric in SENTENCES
    step_time = StepTime.of(model, workload, given)
    steps = given.steps
    if steps is None and given.epochs is None and given.minutes is None:
        steps = step_time.steps()
    planned = min(steps or math.inf, math.inf if given.epochs is None else math.ceil(given.epochs * batches))
    known = 4000 if planned == math.inf else int(planned)  # only minutes are set: a guess
    optimizer = given.optimizer or ("muon" if text and model.decoder == "transformer" else "adam")
    rate = given.rate or _rate(model, optimizer, batch_tokens)
    long = min(known * step_time.seconds, 60 * (given.minutes or math.inf)) >= LONG_SECONDS
    heavy = long and step_time.seconds >= HEAVY_SECONDS and given.threads is None
    choices = {
        "steps": steps,
        "batch_tokens": batch_tokens,
        "optimizer": optimizer,
        "muon_size": 0.1 if optimizer == "muon" else None,
        "rate": rate,
        "schedule": "cosine" if text and planned < math.inf and given.minutes is None else "inverse-sqrt",
        "warmup_steps": min(max(known // 10, 1), 1000),
        "label_smoothing": 0.1 if text else 0.0,
        "weight_decay": _decay(rate, batches) if text else 0.0,
        "evaluate_every": min(max(known // 20, 50), 1000),
        "metric": metric,
        "patience": 6,
        "microbatches": max(2 if heavy else 1, given.processes or 1, torchrun_world_size()),
    }
    chosen = {key: value for key, value in choices.items() if getattr(given, key) is None}
    if "average" not in given.model_fields_set:
        chosen["average"] = 5 if text else 0
    return given.model_copy(update=chosen)


def _tokens(characters: float, tokenizer: TokenizerSettings) -> float:
    """About how many tokens so many characters become, with the end mark; pieces as on Multi30k and Home Assistant."""
    kind, size = tokenizer.kind, tokenizer.size or 4000
    per_token = {"character": 1.0, "word": 3.0}.get(kind or "", max(3.9 + 0.5 * math.log2(size / 4000), 1.0))
    return characters / per_token + 1


def _rate(model: ModelSettings, optimizer: str, batch_tokens: int) -> float:
    kinds = {model.encoder, model.decoder}
    if optimizer == "muon" or {"transformer", "convolution", "patches"} & kinds:
        half = 0.5 if model.norm == "post" else 1.0
        if optimizer == "muon":  # measured at width 128
            peak = 6e-3 if batch_tokens <= 2048 else 8.5e-3
            return float(f"{half * peak * math.sqrt(128 / model.width):.2g}")
        return float(f"{half * min(0.25 / model.width, 2e-3):.1g}")  # 1e-3 at width 256
    return 1e-3 if model.cell == "rnn" or "grid" in kinds else 2e-3


def _decay(rate: float, batches: float) -> float:
    """What was learned at the highest rate fades to 1/e in so many epochs: the more steps one has, the less at each."""
    return float(f"{min(1 / (FADING_EPOCHS * rate * batches), MOST_DECAY):.2g}")
