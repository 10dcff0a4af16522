"""From settings to all that training needs: corpus, tokenizers, model and encoded pairs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.checkpoint import read_codecs, read_facts
from regard.config import Plan, Settings
from regard.config.values import IMAGE_ENCODERS
from regard.data.batches import Pairs, encode_pairs
from regard.data.codecs import SourceCodec, TargetCodec, same_vocabulary, train_codecs
from regard.data.corpus import Corpus, Example, Task, load_corpus
from regard.data.lexicon import Lexicon, learn_lexicon
from regard.data.token_store import TokenStore
from regard.errors import UserError
from regard.experiment.adaptation import freeze
from regard.experiment.init_from import copy_weights
from regard.experiment.resolve import resolve
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.models.seq2seq import Model

LARGE = 1000  # entries of a vocabulary, from which on a shortlist of them pays


@dataclass(frozen=True)
class Setup:
    """All that a run needs before its first step."""

    plan: Plan
    corpus: Corpus
    task: Task
    source: SourceCodec
    target: TargetCodec
    model: Model
    train: Pairs
    dev: Pairs
    skipped: dict[str, int]  # why, and how many
    copied: int = 0  # parameters that are another run's
    origin: dict[str, Any] | None = None  # where that run's weights come from, as its source states it

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    def lexicon(self) -> Lexicon | None:
        """Of a translation with a large vocabulary; None of others, where a shortlist would gain nothing."""
        source, target = self.train.source, self.train.target
        if self.plan.model.pointer:
            if self.plan.search.short_list:
                raise UserError("search.short_list leaves out what model.pointer could copy; leave one of them out")
            return None
        if self.task != "translation" or not isinstance(source, TokenStore) or self.target.size < LARGE:
            if self.plan.search.short_list:
                raise UserError(
                    f"search.short_list is for translations with a vocabulary of {LARGE:,} entries or more, and this "
                    f"is {self.task} with {self.target.size:,}; leave it out"
                )
            return None
        return learn_lexicon(source, target, self.source.size, self.target.size)


def new_setup(settings: Settings) -> Setup:
    """A new run's: open settings are chosen, codecs trained, weights drawn; or codecs and weights are those of
    `training.init_from`. No file is written."""
    corpus = load_corpus(settings.data)
    plan = resolve(settings, corpus)
    _check_fit(plan, corpus)
    earlier = plan.training.init_from
    if earlier is not None:
        return assemble_setup(plan, corpus, read_codecs(Path(earlier), plan, corpus.images))
    return assemble_setup(plan, corpus, train_codecs(plan, corpus))


def assemble_setup(
    plan: Plan,
    corpus: Corpus,
    codecs: tuple[SourceCodec, TargetCodec],
    resumed: bool = False,
) -> Setup:
    """The same from a plan and trained codecs. `resumed`: the saved weights will replace these."""
    source, target = codecs
    model = fuse(build_model(plan.model, source.size, target.size, same_vocabulary(source, target), plan.training.seed))
    freeze(model, plan.training)
    skipped = Counter(example.why for example in corpus.skipped)
    encoded = []
    rate = plan.training.bpe_dropout
    for split, examples, dropout in (("training", corpus.train, rate), ("development", corpus.dev, 0.0)):
        pairs, left_out = encode_pairs(examples, source, target, _longest(plan, model, examples), dropout)
        skipped.update(example.why for example in left_out)
        if len(pairs) == 0:
            why = f"all {len(left_out)} are left out ({left_out[0].why})" if left_out else "there are none"
            raise UserError(f"{corpus.name}: no {split} pairs: {why}; give other pairs, or settings that keep some")
        encoded.append(pairs)
    train, dev = encoded
    if plan.training.microbatches > len(train):
        raise UserError(
            f"training.microbatches = {plan.training.microbatches}, but there are {len(train)} training pairs; "
            "set as many or fewer"
        )
    setup = Setup(plan, corpus, task_of(plan, corpus), source, target, model, train, dev, dict(skipped))
    if plan.training.init_from is not None and not resumed:
        earlier = Path(plan.training.init_from)
        return replace(setup, copied=copy_weights(earlier, model), origin=read_facts(earlier).get("origin"))
    return setup


def task_of(plan: Plan, corpus: Corpus) -> Task:
    if plan.model.decoder == "none":
        return "tagging" if plan.model.is_tagger else "classification"
    if corpus.images is not None:
        return "captioning"
    return "translation" if any(example.source for example in corpus.train) else "continuation"


def _check_fit(plan: Plan, corpus: Corpus) -> None:
    """What only the corpus can tell: whether this model and this metric make sense for it."""
    metric, task = plan.training.metric, task_of(plan, corpus)
    if (corpus.images is not None) != (plan.model.encoder in IMAGE_ENCODERS):
        kind, remedy = ("text", "'lstm-additive'") if corpus.images is None else ("images", "'image-lstm'")
        raise UserError(
            f"model.encoder = {plan.model.encoder!r}, but the sources of {corpus.name} are {kind}; "
            f"take another encoder, such as that of model.preset = {remedy}"
        )
    if plan.training.bpe_dropout > 0 and (
        "bpe" not in plan.tokenizer.kinds or task in ("captioning", "classification", "tagging")
    ):
        raise UserError(
            f"training.bpe_dropout = {plan.training.bpe_dropout} takes pieces of bpe apart, and this is {task} with "
            f"tokenizer.kind = {plan.tokenizer.kind!r}; leave it out"
        )
    if task == "continuation" and plan.model.encoder != "none":
        raise UserError(
            f"model.encoder = {plan.model.encoder!r}, but every source of the corpus is empty; "
            "take a language model such as model.preset = 'transformer-language'"
        )
    if task == "continuation" and metric in ("exact", "bleu", "chrf"):
        raise UserError(f"training.metric = {metric!r} compares outputs, but every source is empty; take 'loss'")
    if task in ("classification", "tagging") and metric in ("exact", "bleu", "chrf"):
        raise UserError(f"training.metric = {metric!r} compares texts; for classes and tags take 'accuracy' or 'loss'")


def _longest(plan: Plan, model: Model, examples: list[Example]) -> int:
    """Tokens that a side may have, without its mark: as set, or fewer where the model's positions end before."""
    limits = [limit - 1 for limit in (model.max_source, model.max_target) if limit is not None]
    if model.max_total is not None:  # the target follows the source, each with a mark
        paired = any(example.source for example in examples)  # otherwise the target has the whole row
        limits.append(model.max_total // 2 - 1 if paired else model.max_total - 2)
    return min([plan.data.max_tokens, *limits])
