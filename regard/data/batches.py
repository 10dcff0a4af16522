"""Examples as ids, and the batches of an epoch: length buckets under a token budget, planned by a pure function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from regard.data.bpe_dropout import BpeDropout
from regard.data.examples import Example, Skipped
from regard.data.image_store import ImageCodec, ImageStore, load_images
from regard.data.tokenizer import BOS, EOS, PAD, ClassLabels, Tokenizer
from regard.errors import UserError

ENCODED_TOGETHER = 20_000


@dataclass(frozen=True)
class Batch:
    """A padded batch, complete. B rows, S and T the longest source and target."""

    source: Tensor  # (B, S) ids + EOS; of pictures bytes
    source_mask: Tensor  # (B, S) True = real; of pictures (B, 1)
    target_in: Tensor  # (B, T) BOS + ids; for classes BOS alone
    target_out: Tensor  # (B, T) ids + EOS; for classes the class
    target_mask: Tensor  # (B, T) True = real
    token_count: int  # real target tokens
    rows: tuple[int, ...]  # of the Pairs


def stretches(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """start, start + 1, … of each start, as many as its count says, one stretch behind another."""
    return np.arange(counts.sum()) + np.repeat(starts - (np.cumsum(counts) - counts), counts)


@dataclass(frozen=True)
class Ragged:
    """Rows of ids of different lengths in one array: row i is ids[starts[i] : starts[i + 1]]."""

    ids: np.ndarray  # int32
    starts: np.ndarray  # int64, one more than there are rows

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)

    def row(self, i: int) -> np.ndarray:
        return self.ids[self.starts[i] : self.starts[i + 1]]

    def source(self, i: int) -> list[int]:
        """A row without EOS, as search takes it."""
        return self.row(i)[:-1].tolist()

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Where the ids of these rows stand, row by row."""
        return stretches(self.starts[rows], self.lengths[rows])

    def padded(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(B, L) ids with PAD behind each row, and the mask of what is real."""
        starts = self.starts[rows]
        lengths = self.starts[rows + 1] - starts
        steps = np.arange(lengths.max())
        mask = steps < lengths[:, None]  # (B, L)
        places = np.where(mask, starts[:, None] + steps, 0)
        return np.where(mask, self.ids[places], PAD).astype(np.int64), mask


@dataclass(frozen=True)
class Pairs:
    """Encoded examples. Sources end with EOS; so do targets, unless they are classes (one id each)."""

    source: Ragged | ImageStore
    target: Ragged
    examples: np.ndarray  # (rows,) the index of each row's example in the list that was encoded
    bpe_dropout: tuple[BpeDropout, BpeDropout] | None = None  # of sources and targets, where pieces are taken apart

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
    source_codec: Tokenizer | ImageCodec,
    target_codec: Tokenizer | ClassLabels,
    max_tokens: int | None = None,
) -> tuple[Pairs, list[Skipped]]:
    """All pairs with at most `max_tokens` tokens (EOS not counted) on each side, and those that were left out."""
    gallery: ImageStore | None = None
    unreadable: dict[int, str] = {}
    if isinstance(source_codec, ImageCodec):
        gallery, unreadable = load_images(source_codec, [example.source for example in examples])
    known = set(target_codec.names) if isinstance(target_codec, ClassLabels) else None
    sources: list[np.ndarray] = []
    targets: list[np.ndarray] = []
    kept: list[int] = []
    skipped: list[Skipped] = []
    lengths: tuple[list[int], list[int]] = ([], [])
    for start in range(0, len(examples), ENCODED_TOGETHER):
        indices, some = [], []
        for index, example in enumerate(examples[start : start + ENCODED_TOGETHER], start):
            if known is not None and example.target not in known:
                skipped.append(Skipped(f"pair {index + 1}", "its class is none of the model's"))
            elif index in unreadable:
                skipped.append(Skipped(f"pair {index + 1} ({example.source})", f"its picture: {unreadable[index]}"))
            else:
                indices.append(index)
                some.append(example)
        source_rows: list[list[int]] = [[]] * len(some)
        if not isinstance(source_codec, ImageCodec):
            source_rows = source_codec.encode_batch([example.source for example in some])
        target_rows = target_codec.encode_batch([example.target for example in some])
        fitting: tuple[list[list[int]], list[list[int]]] = ([], [])
        for index, source, target in zip(indices, source_rows, target_rows, strict=True):
            if max_tokens is not None and max(len(source), len(target)) > max_tokens:
                side = "source" if len(source) > max_tokens else "target"
                skipped.append(Skipped(f"pair {index + 1}", f"its {side} has more than {max_tokens} tokens"))
                continue
            kept.append(index)
            fitting[0].append([*source, EOS])
            fitting[1].append(target if known is not None else [*target, EOS])
        for rows, arrays, sizes in zip(fitting, (sources, targets), lengths, strict=True):
            sizes.extend(map(len, rows))
            arrays.append(np.fromiter(chain.from_iterable(rows), np.int32))
    skipped.sort(key=lambda one: int(one.where.split()[1]))
    ragged = [_ragged(arrays, sizes) for arrays, sizes in zip((sources, targets), lengths, strict=True)]
    rows = np.array(kept, np.int64)
    return Pairs(ragged[0] if gallery is None else gallery.select(rows), ragged[1], rows), skipped


def _ragged(arrays: list[np.ndarray], sizes: list[int]) -> Ragged:
    ids = np.concatenate(arrays) if arrays else np.zeros(0, np.int32)
    return Ragged(ids, np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64))


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


def make_batch(
    pairs: Pairs, rows: np.ndarray | Sequence[int], share: float = 0.0, seed: tuple[int, ...] = (0,)
) -> Batch:
    """The padded tensors of these rows; `share` of their pieces are taken apart, which ones `seed` decides."""
    rows = np.asarray(rows, np.int64)
    source, source_mask = pairs.source.padded(rows)
    target_out, target_mask = pairs.target.padded(rows)
    if share > 0:
        assert pairs.bpe_dropout is not None, "pairs whose pieces nobody can take apart"
        draw = np.random.default_rng(seed)
        source, source_mask = pairs.bpe_dropout[0].take_apart(source, source_mask, share, draw)
        target_out, target_mask = pairs.bpe_dropout[1].take_apart(target_out, target_mask, share, draw)
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
