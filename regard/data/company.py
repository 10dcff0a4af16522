"""Where tokens begin: near those whose company they keep in the training pairs (Firth 1957; Levy & Goldberg 2014).

Of two tokens i, j that stand together in n_ij of N pairs, on whichever side, and each in n_i and n_j of them:

    m_ij = max(0, log(n_ij N / (n_i n_j))) · n_ij / (n_ij + 1)    mutual information, less of it where it is seldom seen
    M ≈ U Λ Uᵀ                                                    its largest eigenvalues
    vector of i = row i of U √Λ, made one long

The factor is that of Pantel & Lin (2002); what stands together once tells nothing. A few rounds of subspace iteration
come close to U. A word and its translation stand in the same pairs, so their vectors begin side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.data.batches import Ragged, stretches

CELLS = 20_000_000  # couples of tokens that are counted at the most, in rows from all of the corpus
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
        """(T, D): the same."""
        return self._turned(width)[0 if self.shared else self.source_size :]

    def _turned(self, width: int) -> Tensor:
        """Each dimension has a share of every eigenvector: dropout and Adam take dimensions one by one."""
        turn = torch.linalg.qr(_drawn(width, width, self.seed))[0]
        some = self.vectors[:, -width:]
        return F.normalize(some @ turn[: some.shape[1]], dim=1)


def keep_company(
    source: Ragged, target: Ragged, sizes: tuple[int, int], shared: bool, width: int, seed: int
) -> Company:
    """From encoded pairs. sizes: of both vocabularies; `shared`: they are one; width: the most that is asked for."""
    size = sizes[0] if shared else sum(sizes)
    matrix = _information(*_couples(source, target, 0 if shared else sizes[0], size), size)
    basis = torch.linalg.qr(_drawn(size, min(width + SPARE, size), seed))[0]
    for _ in range(ROUNDS):
        basis = torch.linalg.qr(torch.sparse.mm(matrix, basis))[0]
    values, turn = torch.linalg.eigh(basis.t() @ torch.sparse.mm(matrix, basis))  # the largest last
    vectors = (basis @ turn) * values.clamp_min(0).sqrt()
    told = torch.zeros(size, 1).index_fill_(0, matrix.indices()[0], 1.0)
    return Company(vectors * told, sizes[0], shared, seed)


def _drawn(rows: int, columns: int, seed: int) -> Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


def _couples(source: Ragged, target: Ragged, behind: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Couples of tokens i < j as i · size + j with the number of pairs that each stands in, the pairs of each token,
    and all pairs. Ids of targets count from `behind`."""
    most = int(((source.lengths + target.lengths) ** 2).sum()) // 2
    rows = np.arange(len(source.lengths))[:: max(1, -(-most // CELLS))]
    ids = np.concatenate([source.ids[source.places(rows)], target.ids[target.places(rows)] + behind])
    owners = np.concatenate([np.repeat(np.arange(len(rows)), side.lengths[rows]) for side in (source, target)])
    owner, token = np.divmod(np.unique(owners * size + ids), size)  # a token once a pair, in ascending order
    after = np.arange(len(owner)) + 1
    beyond = np.searchsorted(owner, owner, side="right") - after  # tokens of the pair that follow
    kind = np.uint32 if size < 2**16 else np.int64
    couples = np.repeat((token * size).astype(kind), beyond) + token[stretches(after, beyond)].astype(kind)
    return *np.unique(couples, return_counts=True), np.bincount(token, minlength=size), len(rows)


def _information(couples: np.ndarray, counts: np.ndarray, alone: np.ndarray, pairs: int, size: int) -> Tensor:
    """M (V, V), sparse. A token is in its own company wherever it stands."""
    again = counts > 1
    first, second = np.divmod(couples[again].astype(np.int64), size)
    own = np.flatnonzero(alone)
    rows, columns = np.concatenate([first, own]), np.concatenate([second, own])
    together = np.concatenate([counts[again], alone[own]])
    mutual = (np.log(together * pairs / (alone[rows] * alone[columns])) * together / (together + 1)).astype(np.float32)
    kept = mutual > 0
    upper = torch.from_numpy(np.stack([rows[kept], columns[kept]]))
    values = torch.from_numpy(mutual[kept])
    values[upper[0] == upper[1]] /= 2  # the diagonal is added twice
    places, both = torch.cat([upper, upper.flip(0)], dim=1), torch.cat([values, values])
    return torch.sparse_coo_tensor(places, both, (size, size), check_invariants=False).coalesce()
