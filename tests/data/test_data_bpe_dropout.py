"""BPE dropout: the text stays, the seed decides, no row grows too long, validation has none."""

from __future__ import annotations

import numpy as np
import pytest

from regard.data.batches import Batch, encode_pairs, make_batch
from regard.data.bpe_dropout import BpeDropout
from regard.data.examples import Example
from regard.data.tokenizer import EOS, Tokenizer

WORDS = ["under", "understand", "standing", "outstanding", "ünder", "stand", "out", "ing"]
TEXTS = [" ".join(WORDS[(i * k) % len(WORDS)] for k in range(1, 2 + i % 5)) for i in range(40)]
BPE = Tokenizer.train(TEXTS, "bpe", 300)
HALVES = BpeDropout.of(BPE, 1.0, 1000).halves


def batch_of(rate: float, seed: tuple[int, ...] | None, max_tokens: int | None = None) -> Batch:
    examples = [Example(text, text[::-1]) for text in TEXTS]
    pairs, skipped = encode_pairs(examples, BPE, BPE, max_tokens, rate)
    assert not skipped
    return make_batch(pairs, range(len(TEXTS)), seed)


def texts_of(ids, mask) -> list[str]:
    return [BPE.decode(row[real][:-1].tolist()) for row, real in zip(ids, mask, strict=True)]


def test_every_merged_token_is_its_halves() -> None:
    merged = np.nonzero(HALVES[:, 0] >= 0)[0]
    assert merged.tolist() == list(range(259, BPE.size)) and len(merged) > 20
    for token in merged.tolist():
        left, right = HALVES[token].tolist()
        assert BPE.engine.id_to_token(token) == BPE.engine.id_to_token(left) + BPE.engine.id_to_token(right)


@pytest.mark.parametrize("rate", [0.0, 0.2, 1.0])
def test_the_text_stays(rate: float) -> None:
    batch, whole = batch_of(rate, (1, 2)), batch_of(0.0, None)
    assert texts_of(batch.source, batch.source_mask) == TEXTS
    assert texts_of(batch.target_out, batch.target_mask) == [text[::-1] for text in TEXTS]
    ends = batch.target_mask.sum(1) - 1
    assert batch.target_out[np.arange(len(TEXTS)), ends].tolist() == [EOS] * len(TEXTS)
    assert (
        batch.target_in[:, 1:][batch.target_mask[:, 1:]].tolist()
        == batch.target_out[:, :-1][batch.target_mask[:, 1:]].tolist()
    )
    assert batch.token_count == int(batch.target_mask.sum())
    if rate == 0:
        assert batch.source.equal(whole.source) and batch.target_out.equal(whole.target_out)
    else:
        assert batch.source_mask.sum() > whole.source_mask.sum()
    if rate == 1:  # nothing is left to split
        assert (HALVES[batch.source.numpy(), 0] < 0).all()


def test_the_rate_is_that_of_tokens_that_can_be_split() -> None:
    tokens = BPE.encode("understand")
    assert len(tokens) == 1
    ids, mask = np.full((4000, 1), tokens[0]), np.ones((4000, 1), bool)
    _, real = BpeDropout(HALVES, 0.25, 1000).apply(ids, mask, np.random.default_rng(1))
    assert (real.sum(1) > 1).mean() == pytest.approx(0.25, abs=0.03)


def test_the_seed_decides_and_without_one_nothing_is_split() -> None:
    first, same, other = (batch_of(0.3, (1, step)) for step in (5, 5, 6))
    assert first.source.equal(same.source) and first.target_out.equal(same.target_out)
    assert not (first.source.shape == other.source.shape and first.source.equal(other.source))
    assert batch_of(0.3, None).source.equal(batch_of(0.0, None).source)


def test_a_row_that_would_grow_too_long_stays_whole() -> None:
    whole = batch_of(0.0, None)
    most = max(int(mask.sum(1).max()) for mask in (whole.source_mask, whole.target_mask)) - 1  # without EOS
    batch = batch_of(1.0, (1,), most)
    lengths, before = batch.source_mask.sum(1), whole.source_mask.sum(1)
    assert texts_of(batch.source, batch.source_mask) == TEXTS
    assert int(lengths.max()) <= most + 1 and bool((lengths > before).any()) and bool((lengths == before).any())
