"""Every field of a run: name, type, help and how it is chosen where it is left open.

Two views: in `Settings`, what a user wrote, a field is open where it is None; in a `Plan` (plan.py), what a run does,
nothing is open. A section with fields that may be open is written once, over the type that stands for "open": None in
Settings, and in a Plan Never, which leaves nothing but the value. `X | None` is a value that a run may lack.
"""

from __future__ import annotations

from typing import Annotated, Generic, Literal

from pydantic import Field

from regard.config.data_settings import DataSettings
from regard.config.section import Open, Section, by_preset, chosen, default, with_choices
from regard.config.values import (
    DecoderKind,
    EncoderKind,
    Natural,
    Place,
    Positions,
    Positive,
    ScoreKind,
    Seed,
    Several,
    Share,
    TokenizerKind,
    Width,
)


class TokenizerFields(Section, Generic[Open]):
    """The fields of TokenizerSettings and TokenizerPlan."""

    kind: TokenizerKind | Open = chosen(
        "what the corpus suggests; else symbol where a side is made of few, character for short strings, word for "
        "captions of frequent words, bpe for text"
    )
    """decomposed: characters, accents apart; symbol: split at spaces; bpe, unigram: of bytes; sentencepiece: import"""
    source_kind: TokenizerKind | None = chosen("kind")
    """kind of the sources, where it differs"""
    target_kind: TokenizerKind | None = chosen("kind")
    """kind of the targets, where it differs"""
    size: Positive | Open = chosen("1000 to 8000 pieces by how much text there is, twice as many words")
    """most entries of the vocabulary (word, bpe, unigram)"""
    shared: bool | Open = chosen("what the corpus suggests; else shared where both sides use the same letters")
    """one vocabulary for both sides"""
    placeholders: bool | Open = chosen("on where one in a hundred training pairs, and a hundred, hold some", False)
    """symbols for tags and placeholders of translations, which the model learns to place; the text gets them back"""


class ModelFields(Section, Generic[Open]):
    """The fields of ModelSettings and ModelPlan."""

    preset: str | None = chosen("by the corpus, unless an encoder or a decoder is named")
    """a named architecture; `regard describe` lists them"""
    encoder: EncoderKind | Open = by_preset("transformer")
    """grid and patches encode images; none: the decoder reads the source itself (a language model)"""
    decoder: DecoderKind | Open = by_preset("transformer")
    """none: the encoder's outputs are pooled and classified"""
    cell: Literal["rnn", "lstm", "gru"] | Open = by_preset("lstm")
    """recurrent cell"""
    direction: Literal["forward", "backward", "both"] | Open = by_preset("both")
    """which way a recurrent encoder reads"""
    context: Literal["first-state", "every-step", "attention"] | Open = by_preset("attention")
    """recurrent decoder: the summary is its first state; is also an input of every step; or the decoder attends"""
    score: ScoreKind | Open = by_preset("additive")
    """recurrent decoder: how a state is compared with the memory"""
    query: Literal["state", "state-and-token"] | Open = chosen("state-and-token for sentences, else state", "state")
    """recurrent decoder: attention's query is the last state, or the last state and the last token"""
    weighting: Literal["softmax", "proportional"] | Open = default("softmax")
    """recurrent decoder: weights by the softmax of the scores, or in proportion to scores made positive"""
    first_state: Literal["zero", "learned"] | Open = default("zero")
    """the state of a recurrent network before the first token it reads"""
    pointer: bool | Open = default(False)
    """tokens of the source can be copied (pointer-generator): for names and numbers; needs one vocabulary"""
    width: Width | Open = chosen("128, or 256 where there is much to learn from", 256)
    """width of states and embeddings"""
    encoder_width: Width | None = chosen("width")
    """width of the encoder, where it differs"""
    decoder_width: Width | None = chosen("width")
    """width of the decoder, where it differs"""
    depth: Several | Open = by_preset(1)
    """layers of encoder and decoder"""
    encoder_depth: Annotated[int, Field(ge=0, le=2**10)] | None = chosen("depth")
    """layers of the encoder, where they differ; 0: a Transformer's memory is the word vectors themselves"""
    decoder_depth: Several | None = chosen("depth")
    """layers of the decoder, where they differ"""
    heads: Several | Open = default(4)
    """attention heads"""
    head_layout: Literal["split", "full"] | Open = default("split")
    """split: width/heads each, concatenated; full: every head has the full width, then a linear layer resizes"""
    projections: Literal["learned", "none"] | Open = default("learned")
    """self-attention: queries, keys and values by learned matrices, or the states themselves"""
    residuals: bool | Open = default(True)
    """residual connections around the sublayers of Transformers and convolutions"""
    ffn_width: Width | None = chosen("4 × the width of the side")
    """hidden width of the feed-forward layers"""
    kernel: Several | Open = default(3)
    """width of a convolution, in tokens"""
    positions: Positions | Open = chosen(
        "the preset's; else rotary where a Transformer learns sentences, or sinusoidal", "sinusoidal"
    )
    """positional encoding of a Transformer or a convolution"""
    position_combine: Literal["add", "multiply", "concatenate"] | Open = default("add")
    """how learned or sinusoidal positions are combined with the embeddings"""
    max_positions: Annotated[int, Field(gt=0, le=2**20)] | Open = default(1024)
    """rows of the learned position table; longer inputs are refused"""
    norm: Literal["pre", "post", "none"] | Open = default("pre")
    """where layer norm stands in each residual block"""
    activation: Literal["relu", "gelu", "silu", "tanh"] | Open = default("relu")
    """of the feed-forward layers"""
    attention_bias: bool | Open = default(False)
    """multi-head attention: a bias in the projections of queries, keys, values and outputs"""
    start: Literal["learned", "zero"] | Open = default("learned")
    """what the decoder reads before the first token: the embedding of <s>, or zeros"""
    tied_embeddings: bool | Open = by_preset(True)
    """output layer = target embeddings (and = source embeddings, where the vocabulary is shared)"""
    dropout: Share | Open = chosen("0 to 0.3, less where there is more to learn from", 0.0)
    """on embeddings and the output of every sublayer"""
    image_size: Width | Open = default(64)
    """width and height in pixels that images are resized to, a multiple of 8"""
    augment: Share | Open = default(0.0)
    """how far images are shifted, scaled, rotated and tinted in training, as a share of their side"""
    stem: Literal["linear", "convolution"] | Open = by_preset("linear")
    """patches: what turns the pixels of a cell into a vector: one matrix, or convolutions that see its neighbours"""
    attention_dropout: Share | Open = default(0.0)
    """on attention weights"""
    ffn_dropout: Share | None = chosen("0 for sentences, else as dropout")
    """inside the feed-forward layers"""
    pooling: Literal["first", "last", "mean", "none"] | Place | Open = default("mean")
    """classifier: the output that the class is predicted from (n: the n-th, from 0), or the mean; none: a tagger"""


class TrainingFields(Section, Generic[Open]):
    """The fields of TrainingSettings and TrainingPlan."""

    steps: Positive | None = chosen(
        "about 40 epochs, fewer where they take more than 25 minutes; none where epochs or minutes are set"
    )
    """most updates"""
    epochs: Annotated[float, Field(gt=0)] | None = None
    """most epochs"""
    minutes: Annotated[float, Field(gt=0)] | None = None
    """wall-clock limit of training (a run that ends by it is not reproducible to the bit)"""
    batch_tokens: Positive | Open = chosen("512 to 4096, by how much text there is; at most 2048 for sentences", 4096)
    """most tokens of a batch, padding included, on the longer side"""
    rate: Annotated[float, Field(gt=0)] | Open = chosen("by optimizer, width, batch and architecture")
    """the highest learning rate"""
    optimizer: Literal["adam", "muon"] | Open = chosen("muon where a Transformer learns sentences, else adam", "adam")
    """adam, or muon for the matrices of layers and adam for the rest: fewer steps, each a little longer"""
    muon_size: Annotated[float, Field(gt=0)] | Open = default(0.1)
    """muon: root mean square of the entries of a step, at a rate of 1"""
    schedule: Literal["inverse-sqrt", "cosine", "constant"] | Open = chosen(
        "cosine for sentences where the steps are known, else inverse-sqrt", "inverse-sqrt"
    )
    """how the rate falls after the warm-up; cosine falls to zero at the last step"""
    warmup_steps: Natural | Open = chosen("a tenth of the steps, at most 1000", 0)
    """updates over which the rate rises from 0"""
    label_smoothing: Share | Open = chosen("0.1 for sentences, else 0", 0.0)
    """probability mass spread over the vocabulary"""
    bpe_dropout: Share = 0.0
    """probability that a BPE merge is left out, drawn again for each batch; batches get longer"""
    clip: Annotated[float, Field(gt=0)] = 1.0
    """gradients are scaled down to this norm"""
    init_from: Annotated[str, Field(min_length=1)] | None = None
    """start from this run: its tokenizers, its architecture unless another is named, and all weights that fit"""
    train: Literal["all", "decoder"] = "all"
    """decoder: the encoder, with a table that both share, stays as training.init_from has it"""
    distill_engine: Literal["torch", "ctranslate2", "ctranslate2-int8"] = "torch"
    """distillation: what decodes the teacher's outputs; never chosen by what is installed"""
    on_divergence: Literal["stop", "halve"] = "stop"
    """where a loss or a gradient is not finite: stop, or go back to the last validation and halve the rate"""
    weight_decay: Annotated[float, Field(ge=0)] | Open = chosen(
        "for sentences by rate and steps of an epoch, at most 0.3; else 0", 0.0
    )
    """weight decay: matrices shrink by rate × this at each step; biases and norms do not"""
    evaluate_every: Positive | Open = chosen("a twentieth of the steps, from 50 to 1000", 1000)
    """updates between two validations"""
    metric: Literal["loss", "exact", "bleu", "chrf", "accuracy"] | Open = chosen(
        "accuracy of classes, loss of continuations, exact of short answers, chrf of sentences", "loss"
    )
    """the development score that selects the best weights"""
    patience: Positive | None = chosen("6")
    """stop after so many validations without an improvement (early stopping)"""
    average: Natural | Open = chosen("5 for sentences, else 0", 0)
    """checkpoint averaging: so many last validations; used where the average is better on dev; 0: off"""
    seed: Seed = 1
    """for initial weights, order of batches, dropout and BPE dropout"""
    threads: Several | None = chosen("all cores, shared out among the microbatches")
    """CPU threads of a process"""
    microbatches: Several | Open = chosen("2 for a long run of heavy steps without threads, else 1", 1)
    """parts of a batch, each with dropout of its own, whose gradients are summed (gradient accumulation)"""
    processes: Several | None = chosen("the faster of one and as many as microbatches, timed on a few batches")
    """processes that compute the microbatches; their number does not change the result"""


class SearchSettings(Section):
    """How an output is searched for."""

    beams: Several = 5
    """hypotheses kept for each sentence; 1: greedy search"""
    n_best: Annotated[int, Field(gt=0, le=10**5)] = 1
    """hypotheses returned for each sentence"""
    length_penalty: Annotated[float, Field(ge=0, le=100)] = 1.0
    """log-probability / length^this ranks finished hypotheses"""
    sample: bool = False
    """draw from the distribution instead of searching"""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    """sampling: a temperature below 1 sharpens the distribution, above 1 flattens it"""
    top_k: Natural = 0
    """sampling: only the k most probable tokens (0: all)"""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """sampling: only the most probable tokens that together reach p"""
    seed: Seed = 1
    """for sampling"""
    max_tokens: Positive | None = None
    """most tokens of an output (without it: 2 × source + 50)"""
    short_list: bool = False
    """shortlist: score only tokens that the training pairs make likely for a batch's sources; faster"""
    batch_tokens: Positive = 4096
    """source tokens decoded together, padding and beams included; each of several threads has as many"""


@with_choices
class TokenizerSettings(TokenizerFields[None]):
    """How text becomes ids. All kinds give every text back exactly."""


@with_choices
class ModelSettings(ModelFields[None]):
    """An encoder, a decoder and what stands between them. Presets fill this in; any field can be set on top."""

    @property
    def names_architecture(self) -> bool:
        """The user named an architecture; else the corpus names one."""
        return not (self.preset is self.encoder is self.decoder is None)


@with_choices
class TrainingSettings(TrainingFields[None]):
    """One run over token-budget batches."""


class Settings(Section):
    """What a user wrote: everything that makes a run, with whatever was left open."""

    data: DataSettings = DataSettings()
    tokenizer: TokenizerSettings = TokenizerSettings()
    model: ModelSettings = ModelSettings()
    training: TrainingSettings = TrainingSettings()
    search: SearchSettings = SearchSettings()
