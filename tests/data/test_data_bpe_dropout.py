"""Pieces taken apart: the text stays, the seed decides, no row grows too long."""

from __future__ import annotations

import numpy as np
import pytest

from regard.data.batches import Pairs, encode_pairs, make_batch
from regard.data.bpe_dropout import BpeDropout
from regard.data.examples import Example
from regard.data.tokenizer import EOS, Tokenizer

WORDS = ["under", "understand", "standing", "outstanding", "ünder", "stand", "out", "ing"]
TEXTS = [" ".join(WORDS[(i * k) % len(WORDS)] for k in range(1, 2 + i % 5)) for i in range(40)]
BPE = Tokenizer.train(TEXTS, "bpe", 300)
UNMERGING = BpeDropout.of(BPE, 1000)


def pairs_with(bpe_dropout: BpeDropout) -> Pairs:
    pairs, _ = encode_pairs([Example(text, text[::-1]) for text in TEXTS], BPE, BPE)
    return Pairs(pairs.source, pairs.target, pairs.examples, (bpe_dropout, bpe_dropout))


def texts_of(ids, mask) -> list[str]:
    return [BPE.decode(row[real][:-1].tolist()) for row, real in zip(ids, mask, strict=True)]


def test_every_piece_is_its_halves() -> None:
    merged = np.nonzero(UNMERGING.halves[:, 0] >= 0)[0]
    assert merged.tolist() == list(range(259, BPE.size)) and len(merged) > 20
    for piece in merged.tolist():
        left, right = UNMERGING.halves[piece].tolist()
        assert BPE.engine.id_to_token(piece) == BPE.engine.id_to_token(left) + BPE.engine.id_to_token(right)


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_the_text_stays(share: float) -> None:
    batch = make_batch(pairs_with(UNMERGING), range(len(TEXTS)), share, (1, 2))
    whole = make_batch(pairs_with(UNMERGING), range(len(TEXTS)))
    assert texts_of(batch.source, batch.source_mask) == TEXTS
    assert texts_of(batch.target_out, batch.target_mask) == [text[::-1] for text in TEXTS]
    ends = batch.target_mask.sum(1) - 1
    assert batch.target_out[np.arange(len(TEXTS)), ends].tolist() == [EOS] * len(TEXTS)
    assert (
        batch.target_in[:, 1:][batch.target_mask[:, 1:]].tolist()
        == batch.target_out[:, :-1][batch.target_mask[:, 1:]].tolist()
    )
    assert batch.token_count == int(batch.target_mask.sum())
    if share == 0:
        assert batch.source.equal(whole.source) and batch.target_out.equal(whole.target_out)
    else:
        assert batch.source_mask.sum() > whole.source_mask.sum()
    if share == 1:  # nothing is left to take apart
        assert (UNMERGING.halves[batch.source.numpy(), 0] < 0).all()


def test_the_share_is_that_of_pieces_that_can_be_taken_apart() -> None:
    piece = BPE.encode("understand")
    assert len(piece) == 1
    ids, mask = np.full((4000, 1), piece[0]), np.ones((4000, 1), bool)
    _, real = UNMERGING.take_apart(ids, mask, 0.25, np.random.default_rng(1))
    assert (real.sum(1) > 1).mean() == pytest.approx(0.25, abs=0.03)


def test_the_seed_decides() -> None:
    pairs = pairs_with(UNMERGING)
    one, same, other = (make_batch(pairs, range(40), 0.3, (1, step)) for step in (5, 5, 6))
    assert one.source.equal(same.source) and one.target_out.equal(same.target_out)
    assert not (one.source.shape == other.source.shape and one.source.equal(other.source))


def test_a_row_that_would_grow_too_long_stays_whole() -> None:
    whole = make_batch(pairs_with(UNMERGING), range(len(TEXTS)))
    longest = int(whole.source_mask.sum(1).max()) + 2
    pairs = pairs_with(BpeDropout.of(BPE, longest))
    batch = make_batch(pairs, range(len(TEXTS)), 1.0, (1,))
    lengths, before = batch.source_mask.sum(1), whole.source_mask.sum(1)
    assert texts_of(batch.source, batch.source_mask) == TEXTS
    assert int(lengths.max()) <= longest and bool((lengths > before).any()) and bool((lengths == before).any())
