"""Examples as ids, and the batches of an epoch: length buckets under a token budget, planned by a pure function."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from regard.data.bpe_dropout import BpeDropout
from regard.data.class_labels import ClassLabels
from regard.data.codecs import Codec, SourceCodec, TargetCodec, symbols_of
from regard.data.examples import Example, Skipped
from regard.data.image_codec import ImageCodec
from regard.data.image_store import ImageStore, load_images
from regard.data.masking import mask_pairs
from regard.data.sources import token_ids
from regard.data.tag_labels import TagLabels
from regard.data.token_store import TokenStore
from regard.data.tokenizer import Tokenizer
from regard.data.vocabulary import BOS, EOS, PAD
from regard.errors import UserError

ENCODED_TOGETHER = 20_000


@dataclass(frozen=True)
class Batch:
    """A padded batch, complete. B rows, S and T the longest source and target."""

    source: Tensor  # (B, S) ids + EOS; of images bytes
    source_mask: Tensor  # (B, S) True = real; of images (B, 1)
    target_in: Tensor  # (B, T) BOS + ids; for classes BOS alone; taggers do not read it
    target_out: Tensor  # (B, T) ids + EOS; for classes the class, for tags one id a word
    target_mask: Tensor  # (B, T) True = real
    token_count: int  # real target tokens
    rows: tuple[int, ...]  # of the Pairs


@dataclass(frozen=True)
class Pairs:
    """Encoded examples. Sources end with EOS; so do targets, unless they are classes (one id each)."""

    source: TokenStore | ImageStore
    target: TokenStore
    examples: np.ndarray  # (rows,) the index of each row's example in the list that was encoded
    differing: int = 0  # of these examples, those whose placeholders differ: they are learned as plain text

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def source_lengths(self) -> np.ndarray:
        return self.source.lengths

    @property
    def target_lengths(self) -> np.ndarray:
        return self.target.lengths


def encode_pairs(
    examples: Sequence[Example],
    source_codec: SourceCodec,
    target_codec: TargetCodec,
    max_tokens: int | None = None,
    bpe_dropout: float = 0.0,
) -> tuple[Pairs, list[Skipped]]:
    """All pairs with at most `max_tokens` tokens (EOS not counted) on each side, and those that were left out.

    `bpe_dropout`: the rate at which tokens of batches are split, where both sides are texts. Codecs with symbols for
    placeholders encode masked pairs, and a message with choices as a pair for each branch.
    """
    originals: Sequence[int] = range(len(examples))
    differing: frozenset[int] = frozenset()
    symbols = symbols_of(source_codec, target_codec)
    if symbols is not None:
        masked = mask_pairs(examples, symbols)
        examples, originals, differing = masked.examples, masked.indices, masked.differing
    images, unreadable = None, {}
    if isinstance(source_codec, ImageCodec):
        images, unreadable = load_images(source_codec, [example.source for example in examples])
    kept: list[int] = []
    skipped: dict[int, str] = {}
    source_ids, target_ids = _IdCollector(), _IdCollector()
    for start in range(0, len(examples), ENCODED_TOGETHER):
        indices = []
        for index, example in enumerate(examples[start : start + ENCODED_TOGETHER], start):
            if isinstance(target_codec, ClassLabels) and not target_codec.knows(example.target):
                skipped[index] = "its class is none of the model's"
            elif isinstance(target_codec, TagLabels) and not target_codec.knows(example.target):
                skipped[index] = "a tag of it is none of the model's"
            elif index in unreadable:
                skipped[index] = f"its image: {unreadable[index]}"
            else:
                indices.append(index)
        sources: list[Sequence[int]] = [[]] * len(indices)
        if images is None:
            sources = [token_ids(source) for source in source_codec.encode_batch([examples[i].source for i in indices])]
        targets = target_codec.encode_batch([examples[i].target for i in indices])
        fitting = []
        for index, source, target in zip(indices, sources, targets, strict=True):
            if isinstance(target_codec, TagLabels) and len(source) != len(target):
                skipped[index] = "it has not as many tags as words"
                continue
            if max_tokens is not None and max(len(source), len(target)) > max_tokens:
                side = "source" if len(source) > max_tokens else "target"
                skipped[originals[index]] = f"its {side} has more than {max_tokens} tokens"
                continue
            kept.append(index)
            fitting.append((source, target))
        source_ids.add([[*source, EOS] for source, _ in fitting])
        target_ids.add([[*target, *target_codec.end] for _, target in fitting])
    rows = np.asarray(originals, np.int64)[kept]
    longest = None if max_tokens is None else max_tokens + 1  # with EOS
    target = target_ids.store(_bpe_dropout(target_codec, bpe_dropout, longest))
    if images is None:
        source = source_ids.store(_bpe_dropout(source_codec, bpe_dropout, longest))
        pairs = Pairs(source, target, rows, len(differing))
    else:
        pairs = Pairs(images.select(rows), target, rows)
    return pairs, [Skipped(_where(index, examples[index], unreadable), skipped[index]) for index in sorted(skipped)]


def _where(index: int, example: Example, unreadable: Container[int]) -> str:
    return f"pair {index + 1} ({example.source})" if index in unreadable else f"pair {index + 1}"


def _bpe_dropout(codec: Codec, rate: float, longest: int | None) -> BpeDropout | None:
    if rate == 0 or not isinstance(codec, Tokenizer) or codec.kind != "bpe":
        return None
    return BpeDropout.of(codec, rate, np.iinfo(np.int64).max if longest is None else longest)


class _IdCollector:
    """Rows of ids, put into arrays some thousands at a time: lists of all of a corpus would take ten times the room."""

    def __init__(self) -> None:
        self._arrays, self._lengths = [np.zeros(0, np.int32)], [0]

    def add(self, rows: list[list[int]]) -> None:
        self._arrays.append(np.fromiter(chain.from_iterable(rows), np.int32))
        self._lengths.extend(map(len, rows))

    def store(self, bpe_dropout: BpeDropout | None) -> TokenStore:
        starts = np.cumsum(self._lengths, dtype=np.int64)  # after a first length of 0
        return TokenStore(np.concatenate(self._arrays), starts, bpe_dropout)


def plan(pairs: Pairs, batch_tokens: int, seed: int, epoch: int, rank: int = 0, world: int = 1) -> list[np.ndarray]:
    """The rows of each batch of this process in this epoch: a pure function of its arguments.

    Rows are shuffled, then sorted by length (ties stay shuffled), cut so that rows × longest side ≤ batch_tokens (a
    longer single row is a batch of its own), and the batches shuffled. Every row is in one batch of one process; all
    processes have equally many batches, and their n-th ones are of like length.
    """
    if world > len(pairs):
        raise UserError(f"{len(pairs)} training pairs cannot feed {world} processes; start fewer processes")
    generator = np.random.default_rng((seed, epoch))
    rows = generator.permutation(len(pairs))
    sources, targets = pairs.source_lengths[rows], pairs.target_lengths[rows]
    longest = np.maximum(sources, targets)
    order = np.lexsort((np.minimum(sources, targets), longest))
    batches = _even(_cut(rows[order], longest[order], batch_tokens), world)
    groups = generator.permutation(len(batches) // world)
    return [batches[group * world + rank] for group in groups]


def _cut(rows: np.ndarray, longest: np.ndarray, batch_tokens: int) -> list[np.ndarray]:
    """Consecutive batches of rows that are sorted by length, each as large as the budget allows."""
    batches = []
    start = 0
    while start < len(rows):
        reach = longest[start : start + max(1, batch_tokens // int(longest[start]))]
        fitting = np.arange(1, len(reach) + 1) * reach <= batch_tokens
        end = start + max(1, int(fitting.sum()))  # the product only grows, so the fitting ones come first
        batches.append(rows[start:end])
        start = end
    return batches


def _even(batches: list[np.ndarray], world: int) -> list[np.ndarray]:
    """Halves the largest batches until their number is a multiple of `world`; keeps the order of lengths.

    Where all are single rows already, the shortest are joined: over the budget, but no row is lost or seen twice.
    """
    batches = list(batches)
    while len(batches) % world:
        at = max(range(len(batches)), key=lambda i: len(batches[i]))
        if len(batches[at]) == 1:
            surplus = len(batches) % world + 1
            return [np.concatenate(batches[:surplus]), *batches[surplus:]]
        half = len(batches[at]) // 2
        batches[at : at + 1] = [batches[at][:half], batches[at][half:]]
    return batches


def make_batch(pairs: Pairs, rows: np.ndarray | Sequence[int], seed: tuple[int, ...] | None = None) -> Batch:
    """The padded tensors of these rows. `seed`: of the BPE dropout that the pairs may have; without it none is done."""
    rows = np.asarray(rows, np.int64)
    generator = None if seed is None else np.random.default_rng(seed)
    source, source_mask = pairs.source.padded(rows, generator)
    target_out, target_mask = pairs.target.padded(rows, generator)
    target_in = np.full_like(target_out, BOS)
    target_in[:, 1:] = np.where(target_mask[:, 1:], target_out[:, :-1], PAD)
    return Batch(
        source=torch.from_numpy(source),
        source_mask=torch.from_numpy(source_mask),
        target_in=torch.from_numpy(target_in),
        target_out=torch.from_numpy(target_out),
        target_mask=torch.from_numpy(target_mask),
        token_count=int(target_mask.sum()),
        rows=tuple(rows.tolist()),
    )
