"""Settings that contradict each other, found before anything runs. Each message names the keys and the remedy."""

from __future__ import annotations

from regard.config.data_settings import DataSettings
from regard.config.plan import ModelPlan, Plan, TrainingPlan, plan_model
from regard.config.settings import Settings, TrainingSettings
from regard.config.values import CELL, IMAGE_ENCODERS
from regard.errors import UserError


def check(config: Settings | Plan) -> None:
    """Settings that are open are taken for what they are without a corpus."""
    _check_data(config.data)
    if isinstance(config, Plan):
        model, named = config.model, True
    else:
        model, named = plan_model(config.model), config.model.names_architecture
    check_model(model, named)
    _check_training(config.training)
    if model.encoder in IMAGE_ENCODERS and config.tokenizer.shared:
        raise UserError("tokenizer.shared = true, but an image has no tokens to share; leave it out")
    if model.pointer and config.tokenizer.shared is False:
        raise UserError("tokenizer.shared = false, but model.pointer copies ids as they are; leave one of them out")
    if model.encoder == "none" and config.tokenizer.shared is False:
        raise UserError("tokenizer.shared = false, but a language model has one vocabulary; leave it out")
    if config.tokenizer.placeholders and (model.encoder in ("none", *IMAGE_ENCODERS) or model.decoder == "none"):
        raise UserError("tokenizer.placeholders = true, but only translations have placeholders to place; leave it out")
    _check_tokenizer(config, model)
    search = config.search
    if search.sample and search.short_list:
        raise UserError("search.sample and search.short_list are both given; sampling needs all tokens: leave one out")
    if not search.sample and search.n_best > search.beams:
        raise UserError(f"search.n_best = {search.n_best} exceeds search.beams = {search.beams}; raise search.beams")


def _check_tokenizer(config: Settings | Plan, model: ModelPlan) -> None:
    tokenizer = config.tokenizer
    for key in ("kind", "source_kind"):
        kind = getattr(tokenizer, key)
        if model.is_tagger and kind not in (None, "word"):
            raise UserError(f"tokenizer.{key} = {kind!r}, but a tagger labels words; leave it out or take 'word'")
    if tokenizer.source_kind is not None and model.encoder in IMAGE_ENCODERS:
        raise UserError("tokenizer.source_kind is given, but the sources are images; leave it out")
    if tokenizer.target_kind is not None and model.decoder == "none":
        raise UserError("tokenizer.target_kind is given, but the targets are classes; leave it out")
    kinds = tokenizer.source_kind or tokenizer.kind, tokenizer.target_kind or tokenizer.kind
    if None not in kinds and kinds[0] != kinds[1]:
        where = f"tokenizer.source_kind = {kinds[0]!r} and target_kind = {kinds[1]!r} make two vocabularies"
        if model.encoder == "none":
            raise UserError(f"{where}, but a language model has one; make them equal")
        if model.pointer:
            raise UserError(f"{where}, but model.pointer needs one; make them equal")
        if tokenizer.shared:
            raise UserError(f"{where}, but tokenizer.shared = true; leave one of them out")


def _check_data(data: DataSettings) -> None:
    for split in ("", "dev_", "test_"):
        source, target = getattr(data, f"{split}source"), getattr(data, f"{split}target")
        pairs = getattr(data, f"{split}pairs")
        if (source is None) != (target is None):
            given, missing = ("source", "target") if source else ("target", "source")
            raise UserError(f"data.{split}{given} is given without data.{split}{missing}; give both")
        if pairs is not None and source is not None:
            raise UserError(f"data.{split}pairs and data.{split}source are both given; keep one")
    if data.corpus is not None and (data.source or data.pairs):
        raise UserError(f"data.corpus = {data.corpus!r} and files of your own are both given; keep one")
    for key in ("lengths", "test_lengths"):
        value = getattr(data, key)
        if value is not None:
            low, high = (int(part) for part in value.split("-"))
            if not 1 <= low <= high:
                raise UserError(f'data.{key} = "{value}" is not a range from 1 upwards; write it as "1-20"')


def check_model(model: ModelPlan, named: bool = True) -> None:
    """`named`: the architecture is known; else the corpus will name one."""
    if model.encoder == model.decoder == "none":
        raise UserError("model.encoder and model.decoder are both none; a model needs one of them")
    if model.is_tagger and model.encoder in IMAGE_ENCODERS:
        raise UserError(f"model.pooling = 'none' labels words, and model.encoder = {model.encoder!r} reads an image")
    if model.encoder == "none" and model.decoder == "convolution":
        raise UserError(
            "model.encoder = 'none' needs model.decoder = 'rnn' or 'transformer'; convolution has an encoder"
        )
    if model.image_size % CELL:
        raise UserError(
            f"model.image_size = {model.image_size} is no multiple of {CELL}, the side of a cell; make it one"
        )
    encoder_width, decoder_width = model.widths
    by_convolution = model.encoder == "grid" or (model.encoder == "patches" and model.stem == "convolution")
    if by_convolution and encoder_width % 4:
        raise UserError(f"model.encoder_width = {encoder_width} cannot be halved twice; make it a multiple of 4")
    if model.encoder == "rnn" and model.direction == "both" and encoder_width % 2:
        raise UserError(f"model.encoder_width = {encoder_width} is odd, but two directions share it; make it even")
    if (
        model.has_recurrent_attention
        and model.score in ("dot", "scaled-dot", "cosine")
        and encoder_width != decoder_width
    ):
        raise UserError(
            f"model.score = {model.score!r} compares states of one width, but model.encoder_width = {encoder_width} "
            f"and model.decoder_width = {decoder_width}; make them equal or take score additive, bilinear or projected"
        )
    if model.query != "state" and named and not model.has_recurrent_attention:
        raise UserError(
            f"model.query = {model.query!r} is the query of a recurrent decoder's attention, "
            "and this model has none; take model.query = 'state'"
        )
    if model.encoder == "none" and model.decoder == "rnn" and model.context == "every-step":
        raise UserError("model.context = 'every-step' needs an encoder; a language model has none: leave context out")
    if model.pointer and ("none" in (model.encoder, model.decoder) or model.encoder in IMAGE_ENCODERS):
        raise UserError(
            "model.pointer = true copies tokens that an encoder reads, and this model has none; leave it out"
        )
    _check_heads(model)
    _check_positions(model)
    _check_switches(model, named)


def _check_switches(model: ModelPlan, named: bool) -> None:
    """Settings that turn a part off or change it need a model that has the part."""
    if model.encoder_depth == 0 and model.encoder != "transformer":
        raise UserError(
            f"model.encoder_depth = 0 makes word vectors the memory, and model.encoder = {model.encoder!r} needs a "
            "layer; take 1 or more, or model.encoder = 'transformer'"
        )
    if model.projections == "none" and model.head_layout == "full" and model.heads > 1:
        raise UserError(
            "model.projections = 'none' shares one vector out among the heads, and model.head_layout = 'full' gives "
            "each all of it; leave one of them out"
        )
    if not named:
        return
    sides = {model.encoder, model.decoder}
    recurrent = model.has_recurrent_attention and model.score != "multi-head"
    parts = (  # setting, whether the model has the part, whether it is set to something unusual, the part
        ("residuals", bool(sides & {"transformer", "convolution", "patches"}), not model.residuals, "sublayers"),
        ("projections", bool(sides & {"transformer", "patches"}), model.projections == "none", "self-attention"),
        ("weighting", recurrent, model.weighting == "proportional", "a recurrent decoder with one score a position"),
        ("first_state", _reads_by_recurrence(model), model.first_state == "learned", "a recurrent network that reads"),
    )
    for setting, present, unusual, part in parts:
        if unusual and not present:
            value = str(getattr(model, setting)).lower()
            raise UserError(f"model.{setting} = {value} is for {part}, and this model has none; leave it out")


def _reads_by_recurrence(model: ModelPlan) -> bool:
    return model.encoder == "rnn" or (model.encoder == "none" and model.decoder == "rnn")


def _check_heads(model: ModelPlan) -> None:
    multi_head = model.has_recurrent_attention and model.score == "multi-head"
    encoder_width, decoder_width = model.widths
    sides = (  # side, its width, whether it has heads, whether they turn with rotary positions
        (
            "encoder",
            encoder_width,
            model.encoder in ("transformer", "patches"),
            model.encoder == "transformer",
        ),
        (
            "decoder",
            decoder_width,
            model.decoder in ("transformer", "convolution") or multi_head,
            model.decoder == "transformer",
        ),
    )
    for side, width, has_heads, turns in sides:
        if has_heads and model.head_layout == "split" and width % model.heads:
            raise UserError(
                f"model.heads = {model.heads} does not divide the {side}'s width {width}; change one of them or take "
                "model.head_layout = 'full'"
            )
        rotated = width if model.head_layout == "full" else width // model.heads
        if turns and model.positions == "rotary" and rotated % 2:
            raise UserError(
                f"model.positions = 'rotary' turns pairs, but a head of the {side} is {rotated} wide; make it even"
            )


def _check_positions(model: ModelPlan) -> None:
    combine, positions = model.position_combine, model.positions
    if combine != "add" and positions in ("rotary", "alibi", "none"):
        raise UserError(
            f"model.position_combine = {combine!r} joins a vector to an embedding, and positions = {positions!r} "
            "has none; take learned or sinusoidal positions, or leave position_combine out"
        )
    if positions in ("rotary", "alibi") and "convolution" in (model.encoder, model.decoder):
        raise UserError(
            f"model.positions = {positions!r} acts inside self-attention, and a convolution has none; "
            "take learned or sinusoidal"
        )


def _check_training(training: TrainingSettings | TrainingPlan) -> None:
    steps, warmup = training.steps, training.warmup_steps
    if steps is not None and warmup is not None and warmup > steps:
        raise UserError(f"training.warmup_steps = {warmup} exceeds training.steps = {steps}; lower it or train longer")
    if training.schedule == "cosine" and training.minutes is not None and steps is None and training.epochs is None:
        raise UserError("training.schedule = 'cosine' needs to know its end: set training.steps or training.epochs")
    processes, microbatches = training.processes, training.microbatches
    if processes is not None and microbatches is not None and processes > microbatches:
        raise UserError(
            f"training.processes = {processes} exceeds training.microbatches = {microbatches}: each computes one at "
            "least; lower it or take more microbatches"
        )
