"""The one typed tree of settings. A field at None is chosen from the corpus when a run starts, and written down."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Range = Annotated[str, Field(pattern=r"^\d+-\d+$")]
Positive = Annotated[int, Field(gt=0)]
Natural = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, lt=1)]

EncoderKind = Literal["rnn", "convolution", "transformer", "grid", "patches", "none"]
DecoderKind = Literal["rnn", "convolution", "transformer", "none"]
Score = Literal["additive", "dot", "scaled-dot", "bilinear", "projected", "cosine", "multi-head"]
Engine = Literal["auto", "torch", "ctranslate2", "ctranslate2-int8"]  # what decodes (regard.inference.engine)
Positions = Literal["none", "learned", "sinusoidal", "rotary", "alibi"]
PICTURE_ENCODERS = ("grid", "patches")
CELL = 8  # pixels of the side of a cell: what one position of a picture's memory stands for


class Section(BaseModel):
    """A frozen record that refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class DataSettings(Section):
    """Where the pairs come from: an embedded corpus, a folder made by `regard data fetch`, or files of your own."""

    corpus: str | None = None
    """an embedded corpus (see `regard data list`) or a folder with train.tsv, dev.tsv and test.tsv"""
    source: str | None = None
    """a text file with one source a line (.gz allowed)"""
    target: str | None = None
    """the parallel file with one target a line"""
    pairs: str | None = None
    """a .tsv (source TAB target) or .jsonl ({"source": …, "target": …}) file, .gz allowed; or COCO's or Flickr8k's"""
    dev_source: str | None = None
    """development sources; without them some pairs are held out"""
    dev_target: str | None = None
    """development targets"""
    dev_pairs: str | None = None
    """development pairs as .tsv or .jsonl"""
    test_source: str | None = None
    """test sources; without them some pairs are held out"""
    test_target: str | None = None
    """test targets"""
    test_pairs: str | None = None
    """test pairs as .tsv or .jsonl"""
    images: str | None = None
    """the folder of the pictures that sources name (that of the training file)"""
    examples: Positive | None = None
    """how many training examples an embedded corpus generates"""
    dev_examples: Positive | None = None
    """how many pairs are held out for development"""
    test_examples: Positive | None = None
    """how many pairs are held out for the test"""
    pair: str = "en-fr"
    """dates: locale of the source, a hyphen, locale of the target (or iso)"""
    digits: Positive = 3
    """addition: digits of each summand at most"""
    lengths: Range = "1-20"
    """reverse, sort, copy: lengths of the inputs in train and dev"""
    test_lengths: Range | None = None
    """reverse, sort, copy: lengths of the test inputs, where they should differ"""
    max_tokens: Positive = 256
    """a training pair with a longer side is left out, counted and reported"""
    seed: Natural = 1
    """what is generated and what is held out"""


class TokenizerSettings(Section):
    """How text becomes ids. All kinds give every text back exactly."""

    kind: Literal["character", "word", "bpe", "unigram"] | None = None
    """character, word, byte-level bpe, or unigram"""
    size: Positive | None = None
    """entries of the vocabulary at most (word, bpe, unigram)"""
    shared: bool | None = None
    """one vocabulary for both sides"""


class ModelSettings(Section):
    """An encoder, a decoder and what stands between them. Presets fill this in; any field can be set on top."""

    preset: str | None = None
    """the named architecture this started from (see `regard describe`)"""
    encoder: EncoderKind = "transformer"
    """grid, patches: of pictures; none: the decoder reads the source itself (a language model)"""
    decoder: DecoderKind = "transformer"
    """none: the encoder's outputs are pooled and classified"""
    cell: Literal["rnn", "lstm", "gru"] = "lstm"
    """recurrent cell"""
    direction: Literal["forward", "backward", "both"] = "both"
    """which way a recurrent encoder reads"""
    context: Literal["first-state", "every-step", "attention"] = "attention"
    """recurrent decoder: the summary is its first state; is fed to every step too; or it attends to the memory"""
    score: Score = "additive"
    """recurrent decoder: how a state is compared with the memory"""
    query: Literal["state", "state-and-token"] = "state"
    """recurrent decoder: the query of its attention: the last state, or that and the last token (for sentences)"""
    width: Positive = 256
    """width of states and embeddings (chosen by the corpus: mostly 128)"""
    encoder_width: Positive | None = None
    """width of the encoder, where it differs"""
    decoder_width: Positive | None = None
    """width of the decoder, where it differs"""
    depth: Positive = 1
    """layers of encoder and decoder"""
    encoder_depth: Positive | None = None
    """layers of the encoder, where they differ"""
    decoder_depth: Positive | None = None
    """layers of the decoder, where they differ"""
    heads: Positive = 4
    """attention heads"""
    head_layout: Literal["split", "full"] = "split"
    """split: width/heads each, concatenated; full: every head has the full width, then a linear layer resizes"""
    ffn_width: Positive | None = None
    """hidden width of the feed-forward layers (4 × width)"""
    kernel: Positive = 3
    """width of a convolution, in tokens"""
    positions: Positions = "sinusoidal"
    """how a Transformer or convolution knows the order (rotary where a Transformer learns sentences)"""
    position_combine: Literal["add", "multiply", "concatenate"] = "add"
    """how learned or sinusoidal positions join the embeddings"""
    max_positions: Positive = 1024
    """rows of the learned position table; longer inputs are refused"""
    norm: Literal["pre", "post", "none"] = "pre"
    """where layer norm stands in each residual block"""
    activation: Literal["relu", "gelu", "tanh"] = "relu"
    """of the feed-forward layers"""
    tied_embeddings: bool = True
    """output layer = target embeddings (and = source embeddings, where the vocabulary is shared)"""
    dropout: Share | None = None
    """on embeddings and the output of every sublayer"""
    image_size: Positive = 64
    """pixels of the side that a picture is resized to, a multiple of 8"""
    augment: Share = 0.0
    """how far pictures are moved, scaled, turned and tinted in training, as a share of their side"""
    attention_dropout: Share = 0.0
    """on attention weights"""
    ffn_dropout: Share | None = None
    """inside the feed-forward layers (none for sentences, else as dropout)"""
    pooling: Literal["first", "last", "mean"] = "mean"
    """classifier: which of the encoder's outputs decide"""

    @property
    def names_architecture(self) -> bool:
        """The user named an architecture; else the corpus names one."""
        return self.preset is not None or bool(self.model_fields_set & {"encoder", "decoder"})

    @property
    def has_recurrent_attention(self) -> bool:
        """A recurrent decoder attends to an encoder."""
        return self.decoder == "rnn" and self.encoder != "none" and self.context == "attention"

    @property
    def is_transformer(self) -> bool:
        """It is a Transformer from end to end."""
        return self.encoder == self.decoder == "transformer"


class TrainingSettings(Section):
    """One run over token-budget batches."""

    steps: Positive | None = None
    """updates at most"""
    epochs: Annotated[float, Field(gt=0)] | None = None
    """epochs at most"""
    minutes: Annotated[float, Field(gt=0)] | None = None
    """wall-clock limit of training (a run that ends by it is not reproducible to the bit)"""
    batch_tokens: Positive | None = None
    """padded tokens of a batch at most, on the longer side"""
    rate: Annotated[float, Field(gt=0)] | None = None
    """the highest learning rate"""
    optimizer: Literal["adam", "muon"] | None = None
    """adam, or muon for the matrices of layers and adam for the rest: fewer steps, each a little longer"""
    muon_size: Annotated[float, Field(gt=0)] | None = None
    """muon: root mean square of the entries of a step, at a rate of 1"""
    schedule: Literal["inverse-sqrt", "cosine", "constant"] | None = None
    """how the rate falls after the warm-up (cosine, to zero, for text whose steps are known; else inverse-sqrt)"""
    warmup_steps: Natural | None = None
    """updates over which the rate rises from 0"""
    label_smoothing: Share | None = None
    """probability mass spread over the vocabulary"""
    bpe_dropout: Share = 0.0
    """share of the pieces of bpe taken apart into those they were merged of, anew in each batch, which grows by it"""
    clip: Annotated[float, Field(gt=0)] = 1.0
    """gradients are scaled down to this norm"""
    init_from: Annotated[str, Field(min_length=1)] | None = None
    """start from this run: its tokenizers, its architecture unless another is named, and all weights that fit"""
    distill_engine: Literal["torch", "ctranslate2", "ctranslate2-int8"] = "torch"
    """distillation: what decodes the teacher's outputs; never chosen by what is installed"""
    weight_decay: Annotated[float, Field(ge=0)] | None = None
    """matrices, tables and kernels shrink by rate times this at each step (for sentences, by the steps of an epoch)"""
    evaluate_every: Positive | None = None
    """updates between two validations"""
    metric: Literal["loss", "exact", "bleu", "chrf", "accuracy"] | None = None
    """what decides which weights are best, on the development set"""
    patience: Positive | None = None
    """stop after so many validations without an improvement (early stopping)"""
    average: Natural = 0
    """average the weights of so many last validations; the average is the model where it is better on dev (0: off)"""
    seed: Natural = 1
    """initial weights, order of batches, dropout, pieces taken apart"""
    threads: Positive | None = None
    """CPU threads of a process (all cores, shared out among the microbatches)"""
    microbatches: Positive | None = None
    """parts of a batch whose gradients are summed (2 for a long run of heavy steps without `threads`)"""
    processes: Positive | None = None
    """processes that compute the microbatches, with the same result (the faster of one and as many as microbatches)"""


class SearchSettings(Section):
    """How an output is searched for."""

    beams: Positive = 5
    """hypotheses kept a sentence; 1 is greedy"""
    n_best: Positive = 1
    """hypotheses returned a sentence"""
    length_penalty: Annotated[float, Field(ge=0)] = 1.0
    """log-probability / length^this ranks finished hypotheses"""
    sample: bool = False
    """draw from the distribution instead of searching"""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    """sampling: below 1 sharper, above 1 flatter"""
    top_k: Natural = 0
    """sampling: only the k most probable tokens (0: all)"""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """sampling: only the most probable tokens that together reach p"""
    seed: Natural = 1
    """sampling"""
    max_tokens: Positive | None = None
    """longest output (2 × source + 50 tokens)"""
    short_list: bool = False
    """write only tokens that are likely for the sources of a batch by the training pairs, or frequent: faster"""
    batch_tokens: Positive = 4096
    """padded source tokens decoded together, beams included; two threads have as many each"""


class Settings(Section):
    """Everything that makes a run."""

    data: DataSettings = DataSettings()
    tokenizer: TokenizerSettings = TokenizerSettings()
    model: ModelSettings = ModelSettings()
    training: TrainingSettings = TrainingSettings()
    search: SearchSettings = SearchSettings()
