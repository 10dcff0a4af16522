"""Settings that were left open, chosen by the corpus: each is written into the run's recipe and can be set by hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from regard.config import ModelConfig, RunConfig, TokenizerConfig, TrainingConfig, preset_fields
from regard.config.check import check
from regard.config.tree import CELL, PICTURE_ENCODERS
from regard.data.corpus import Corpus, Example
from regard.data.embedded import EMBEDDED
from regard.errors import UserError

SECONDS = 1500  # a run without limits of its own ends after about so long on two cores,
ENOUGH_PASSES, MOST_SECONDS = 8, 3000  # or, where so many passes take longer, after them, but not beyond so long
WIDE_PASSES = 10  # what there must be time for where twice the width, three times the work, is chosen
SENTENCES = ("bleu", "chrf")  # metrics of texts that have many right answers
PASSES, MOST_DECAY = 8, 0.3  # in which weights fade by their decay, and the most of it that was of use (LOG.md)
LONG_SECONDS, HEAVY_SECONDS = 120, 0.25  # what a run and its steps must take for two processes to pay (LOG.md)


@dataclass(frozen=True)
class Reading:
    """How the corpus is read: a pair has about so many tokens on its longer side, a pass so many batches."""

    tokens: float
    batch_tokens: int
    batches: float


@dataclass(frozen=True)
class Measure:
    """What decides: how much text there is and of what kind."""

    pairs: int
    source: float  # mean characters
    target: float
    letters: int  # different characters
    overlap: float  # how much of the text on each side is written in characters that both sides use
    cells: int = 0  # positions of a picture

    @property
    def longer(self) -> float:
        return max(self.source, self.target)


def complete(config: RunConfig, corpus: Corpus) -> RunConfig:
    """The configuration with every choice made. A pure function: the same corpus gives the same recipe."""
    config = _with_preset(config, corpus)
    measure = measure_text(corpus.train) if corpus.images is None else measure_captions(corpus.train, config.model)
    suggested = corpus.tokenizer if config.data.corpus in EMBEDDED else TokenizerConfig()
    tokenizer = _tokenizer(config, suggested, measure)
    metric = config.training.metric or _metric(config.model, corpus, measure)
    reading = _reading(config.training, tokenizer, measure, metric)
    model = _model(config, tokenizer, reading, measure, metric)
    training = _training(config.training, model, tokenizer, reading, metric)
    return config.model_copy(update={"tokenizer": tokenizer, "model": model, "training": training})


def _with_preset(config: RunConfig, corpus: Corpus) -> RunConfig:
    """The architecture that the corpus is for, beneath the fields set by hand, where none was named."""
    given = config.model
    if given.named:
        return config
    fields = {**preset_fields(corpus.model), "preset": corpus.model, **given.model_dump(exclude_unset=True)}
    return config.model_copy(update={"model": ModelConfig.model_validate(fields)})


def _model(
    config: RunConfig, tokenizer: TokenizerConfig, reading: Reading, measure: Measure, metric: str
) -> ModelConfig:
    """Width and dropout by how much there is to learn from, positions by what is learned, where they are not set."""
    given = config.model
    attends = bool({"transformer", "convolution", "grid", "patches"} & {given.encoder, given.decoder})
    chosen: dict[str, Any] = {}
    if "width" not in given.model_fields_set:
        wide = given.model_copy(update={"width": 256})
        if attends:
            pays = measure.pairs >= 100_000 and _passes(config.training, wide, tokenizer, reading) >= WIDE_PASSES
        else:
            pays = measure.pairs >= 20_000
        chosen["width"] = 256 if pays else 128
    if given.dropout is None:
        chosen["dropout"] = _dropout(metric, measure, attends)
    if given.ffn_dropout is None and {"transformer", "patches"} & {given.encoder, given.decoder}:
        everywhere = chosen.get("dropout", given.dropout or 0.0)
        chosen["ffn_dropout"] = 0.0 if metric in SENTENCES else everywhere  # none: as Vaswani 2017 (LOG.md)
    model = given.model_copy(update=chosen)
    if metric not in SENTENCES or model.encoder in ("none", *PICTURE_ENCODERS):
        return model
    if model.transforms and "positions" not in given.model_fields_set:
        return _turning(model)
    if model.attentive and "query" not in given.model_fields_set:
        return model.model_copy(update={"query": "state-and-token"})  # learns sentences in fewer passes (LOG.md)
    return model


def _turning(model: ModelConfig) -> ModelConfig:
    """Rotary positions, which learn sentences in fewer passes (LOG.md), where the model can have them."""
    turning = model.model_copy(update={"positions": "rotary"})
    try:
        check(RunConfig(model=turning))
    except UserError:
        return model
    return turning


def measure_text(examples: list[Example]) -> Measure:
    sources, targets = _letters(e.source for e in examples), _letters(e.target for e in examples)
    both = sources.keys() & targets.keys()
    shares = [sum(side[letter] for letter in both) / max(side.total(), 1) for side in (sources, targets)]
    pairs = max(len(examples), 1)
    return Measure(
        pairs, sources.total() / pairs, targets.total() / pairs, len(sources.keys() | targets.keys()), min(shares)
    )


def measure_captions(examples: list[Example], model: ModelConfig) -> Measure:
    """Of pictures only the captions are text."""
    text = measure_text([Example("", example.target) for example in examples])
    return replace(text, cells=(model.image_size // CELL) ** 2)


def _letters(texts: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    return counts


def _tokenizer(config: RunConfig, suggested: TokenizerConfig, measure: Measure) -> TokenizerConfig:
    given = config.tokenizer
    short = measure.longer < 25 and measure.letters < 200
    by_text = "word" if measure.cells else "character" if short else "bpe"  # captions name things, seldom new ones
    kind = given.kind or suggested.kind or by_text
    # the suggested size belongs to the suggested kind
    size = given.size or (suggested.size if kind == suggested.kind else None) or _size(kind, measure)
    shared = next((s for s in (given.shared, suggested.shared) if s is not None), measure.overlap > 0.8)
    if config.model.encoder == "none":
        shared = True
    elif config.model.encoder in PICTURE_ENCODERS or config.model.decoder == "none":
        shared = False
    return TokenizerConfig(kind=kind, size=size, shared=shared)


def _size(kind: str, measure: Measure) -> int:
    """Entries that are seen often enough to be learned; a small output layer is also what makes a CPU fast."""
    if kind == "character":
        return 8000
    sizes = ((2_000, 1000), (8_000, 2000), (20_000, 4000), (300_000, 8000))
    size = next((size for pairs, size in sizes if measure.pairs < pairs), 16000)
    return 2 * size if kind == "word" else size


def _metric(model: ModelConfig, corpus: Corpus, measure: Measure) -> str:
    if model.decoder == "none":
        return "accuracy"
    if corpus.task == "continuation":
        return "loss"
    return "exact" if measure.target < 30 else "chrf"  # a short answer is right or wrong; chrF suits every script


def _dropout(metric: str, measure: Measure, attends: bool) -> float:
    """Less where there is more to learn from. Rules, tasks with one right answer, are blurred by it in an RNN, but a
    Transformer without it learns the examples by heart (LOG.md: addition)."""
    if metric == "exact":
        return 0.1 if attends or measure.pairs < 20_000 else 0.0
    return 0.3 if measure.pairs < 10_000 else 0.2 if measure.pairs < 100_000 else 0.1


def _reading(given: TrainingConfig, tokenizer: TokenizerConfig, measure: Measure, metric: str) -> Reading:
    tokens = max(_tokens(measure.longer, tokenizer), measure.cells)
    everything = measure.pairs * tokens
    most = 2048 if metric in SENTENCES else 4096  # sentences: as many tokens in twice the steps teach more (LOG.md)
    batch_tokens = given.batch_tokens or min(max(2 ** round(math.log2(everything / 200)), 512), most)
    return Reading(tokens, batch_tokens, everything / batch_tokens)


def _training(
    given: TrainingConfig, model: ModelConfig, tokenizer: TokenizerConfig, reading: Reading, metric: str
) -> TrainingConfig:
    batch_tokens, batches = reading.batch_tokens, reading.batches
    text = metric in SENTENCES
    each = step_seconds(batch_tokens, reading.tokens, model, _entries(tokenizer))
    steps = given.steps
    if steps is None and given.epochs is None and given.minutes is None:
        steps = _steps(batches, each)
    planned = min(steps or math.inf, math.inf if given.epochs is None else math.ceil(given.epochs * batches))
    known = 4000 if planned == math.inf else int(planned)  # only minutes are set: a guess
    optimizer = given.optimizer or ("muon" if text and model.decoder == "transformer" else "adam")
    rate = given.rate or _rate(model, optimizer, batch_tokens)
    long = min(known * each, 60 * (given.minutes or math.inf)) >= LONG_SECONDS
    shared = long and each >= HEAVY_SECONDS and given.threads is None  # whoever counts threads counts cores
    acquainted = text and model.transforms and tokenizer.kind != "character"  # letters stand in every pair
    choices = {
        "steps": steps,
        "batch_tokens": batch_tokens,
        "optimizer": optimizer,
        "muon_size": 0.1 if optimizer == "muon" else None,
        "rate": rate,
        "schedule": "cosine" if text and planned < math.inf and given.minutes is None else "inverse-sqrt",
        "warmup_steps": min(max(known // 10, 1), 1000),
        "label_smoothing": 0.1 if text else 0.0,
        "tables": "company" if acquainted else "random",  # a head start of a few passes (LOG.md)
        "weight_decay": _decay(rate, batches) if text else 0.0,
        "evaluate_every": min(max(known // 20, 50), 1000),
        "metric": metric,
        "patience": 6,
        "processes": 2 if shared else 1,
    }
    chosen = {key: value for key, value in choices.items() if getattr(given, key) is None}
    if "average" not in given.model_fields_set:
        chosen["average"] = 5 if text else 0
    return given.model_copy(update=chosen)


def _tokens(characters: float, tokenizer: TokenizerConfig) -> float:
    """About how many tokens so many characters become, with the end mark."""
    per_token = {"character": 1.0, "word": 3.0, "bpe": 3.5, "unigram": 3.5}[tokenizer.kind or "bpe"]
    return characters / per_token + 1


def _rate(model: ModelConfig, optimizer: str, batch_tokens: int) -> float:
    kinds = {model.encoder, model.decoder}
    if optimizer == "muon" or {"transformer", "convolution", "patches"} & kinds:
        half = 0.5 if model.norm == "post" else 1.0
        if optimizer == "muon":  # measured at width 128
            peak = 6e-3 if batch_tokens <= 2048 else 8.5e-3
            return float(f"{half * peak * math.sqrt(128 / model.width):.2g}")
        return float(f"{half * min(0.25 / model.width, 2e-3):.1g}")  # 1e-3 at width 256
    return 1e-3 if model.cell == "rnn" or "grid" in kinds else 2e-3


def _decay(rate: float, batches: float) -> float:
    """At the highest rate, what was learned fades to 1/e in PASSES: the more steps a pass has, the less at each."""
    return float(f"{min(1 / (PASSES * rate * batches), MOST_DECAY):.2g}")


def _steps(batches: float, each: float) -> int:
    """Forty passes, but no more than the time allows; and enough steps to learn anything from a small corpus."""
    wanted = max(40 * batches, 1500)
    steps = min(wanted, max(_seconds(batches, each) / each, 200))
    return round(steps / 50) * 50 or 50


def _seconds(batches: float, each: float) -> float:
    """What a run may take that has no limits of its own: longer where there is more to read."""
    return min(max(ENOUGH_PASSES * batches * each, SECONDS), MOST_SECONDS)


def _passes(given: TrainingConfig, model: ModelConfig, tokenizer: TokenizerConfig, reading: Reading) -> float:
    """How often such a model can read everything, within the limits that are set, or the time that is chosen."""
    each = step_seconds(reading.batch_tokens, reading.tokens, model, _entries(tokenizer))
    one = reading.batches * each  # seconds of a pass
    limits = [
        given.epochs,
        None if given.steps is None else given.steps / reading.batches,
        None if given.minutes is None else 60 * given.minutes / one,
    ]
    return min((limit for limit in limits if limit is not None), default=_seconds(reading.batches, each) / one)


def _entries(tokenizer: TokenizerConfig) -> int:
    return 300 if tokenizer.kind == "character" else tokenizer.size or 0


def step_seconds(batch_tokens: int, tokens: float, model: ModelConfig, size: int) -> float:
    """A guess of how long an update takes on two cores: the multiplications, and what every time step costs anew."""
    width = model.width
    depth = (model.encoder_depth or model.depth) + (model.decoder_depth or model.depth)
    per_layer = {"transformer": 14, "convolution": 10, "rnn": {"rnn": 2, "gru": 6, "lstm": 8}[model.cell], "none": 0}
    per_layer |= {"patches": 14, "grid": 60}
    matrices = width * width * (per_layer[model.encoder] + per_layer[model.decoder]) * depth / 2
    work = 6 * batch_tokens * (matrices + width * size) / 80e9
    sequential = 1.5e-3 * tokens * depth if "rnn" in (model.encoder, model.decoder) else 0.0
    return work + sequential + 5e-3
