from __future__ import annotations

import loading
import pytest

from regard.data import Example, Tokenizer, encode_pairs, plan


def test_the_rate_of_batches_counts_the_rows_that_are_made() -> None:
    examples = [Example("a b c", "c b a") for _ in range(20)]
    tokenizer = Tokenizer.train(["a b c"], "word", 300)
    pairs, _ = encode_pairs(examples, tokenizer, tokenizer)
    batches = plan(pairs, 16, seed=1, epoch=0)
    assert len(batches) > 2
    assert loading.rows_made(pairs, batches) == len(pairs)
    assert loading.rows_made(pairs, batches[:2]) == len(batches[0]) + len(batches[1]) < len(pairs)


def test_a_row_divides_what_was_done_by_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter((0.0, 2.0, 2.0, 6.0))
    monkeypatch.setattr(loading.time, "perf_counter", lambda: next(now))
    assert loading.row("it", lambda: 400, 2) == "| it | 3.0000 (2.0000 to 4.0000) | 150 (100 to 200) |"
