"""Where tokens begin: near those whose company they keep in the training pairs (Firth 1957; Levy & Goldberg 2014).

Of two tokens i, j that stand together in n_ij of N pairs, on whichever side, and alone in n_i and n_j:

    m_ij = max(0, log(n_ij N / (n_i n_j))) · n_ij / (n_ij + 1)    mutual information, less of it where it is seldom seen
    M ≈ U Λ Uᵀ                                                    its largest eigenvalues
    vector of i = row i of U √Λ, made one long

A word and its translation stand in the same pairs, so their vectors begin side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.data.batches import Ragged

CELLS = 24_000_000  # couples of tokens that are counted, about, in rows from all of the corpus
SPARE = 32  # dimensions beyond those that are asked for: the last ones come out better
ROUNDS = 5  # of subspace iteration


@dataclass(frozen=True)
class Company:
    """The eigenvectors of all tokens, those of sources first unless both sides have one vocabulary."""

    vectors: Tensor  # (V, W) U √Λ, the largest last
    source_size: int
    shared: bool
    seed: int

    def source(self, width: int) -> Tensor:
        """(S, D): a vector of length one for each token, nought for those that stand in no pair, or in all of them."""
        return self._turned(width)[: self.source_size]

    def target(self, width: int) -> Tensor:
        return self._turned(width)[0 if self.shared else self.source_size :]

    def _turned(self, width: int) -> Tensor:
        """Each dimension has a share of every eigenvector: none is more important than another."""
        draw = torch.Generator().manual_seed(self.seed)
        turn = torch.linalg.qr(torch.randn(width, width, generator=draw))[0]
        some = self.vectors[:, -width:]
        return F.normalize(some @ turn[: some.shape[1]], dim=1)


def keep_company(
    source: Ragged, target: Ragged, sizes: tuple[int, int], shared: bool, width: int, seed: int
) -> Company:
    """From encoded pairs. sizes: of both vocabularies; `shared`: they are one; width: the most that is asked for."""
    size = sizes[0] if shared else sum(sizes)
    matrix = _information(*_couples(source, target, 0 if shared else sizes[0], size), size)
    draw = torch.Generator().manual_seed(seed)
    basis = torch.linalg.qr(torch.randn(size, min(width + SPARE, size), generator=draw))[0]
    for _ in range(ROUNDS):
        basis = torch.linalg.qr(torch.sparse.mm(matrix, basis))[0]
    values, turn = torch.linalg.eigh(basis.t() @ torch.sparse.mm(matrix, basis))  # the largest last
    vectors = (basis @ turn) * values.clamp_min(0).sqrt()
    told = torch.zeros(size, 1).index_fill_(0, matrix.indices()[0], 1.0)
    return Company(vectors * told, sizes[0], shared, seed)


def _couples(source: Ragged, target: Ragged, behind: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Couples of tokens i < j as i · size + j with the number of pairs that each stands in, the pairs of each token,
    and all pairs. Ids of targets count from `behind`."""
    lengths = source.lengths + target.lengths
    step = max(1, -(-int((lengths**2).sum() // 2) // CELLS))
    rows = np.arange(len(lengths))[::step]
    sides = [
        (side.ids[_places(side, rows)] + first, side.lengths[rows]) for side, first in ((source, 0), (target, behind))
    ]
    owners = np.concatenate([np.repeat(np.arange(len(rows)), count) for _, count in sides])
    each = np.unique(
        owners * size + np.concatenate([ids for ids, _ in sides])
    )  # a token once a pair, in ascending order
    owner, token = each // size, each % size
    beyond = np.searchsorted(owner, owner, side="right") - np.arange(len(owner)) - 1  # tokens of the pair that follow
    other = np.arange(beyond.sum()) + np.repeat(np.arange(len(owner)) + 1 - (np.cumsum(beyond) - beyond), beyond)
    couples, counts = np.unique(np.repeat(token, beyond) * size + token[other], return_counts=True)
    return couples, counts, np.bincount(token, minlength=size), len(rows)


def _places(side: Ragged, rows: np.ndarray) -> np.ndarray:
    """Where the ids of these rows stand."""
    counts = side.lengths[rows]
    return np.arange(counts.sum()) + np.repeat(side.starts[rows] - (np.cumsum(counts) - counts), counts)


def _information(couples: np.ndarray, counts: np.ndarray, alone: np.ndarray, pairs: int, size: int) -> Tensor:
    """M (V, V), sparse. A token is in its own company whenever it stands somewhere."""
    first, second = couples // size, couples % size
    own = np.flatnonzero(alone)
    rows, columns = np.concatenate([first, second, own]), np.concatenate([second, first, own])
    together = np.concatenate([counts, counts, alone[own]])
    mutual = np.log(together * pairs / (alone[rows] * alone[columns])) * together / (together + 1)
    kept = mutual > 0
    places = torch.from_numpy(np.stack([rows[kept], columns[kept]]))
    values = torch.from_numpy(mutual[kept].astype(np.float32))
    return torch.sparse_coo_tensor(places, values, (size, size), check_invariants=False).coalesce()
