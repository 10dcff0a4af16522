"""Encoded images: each kept once, unreadable ones reported, batches of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from regard.data.batches import encode_pairs, make_batch, plan
from regard.data.examples import Example
from regard.data.image_codec import ImageCodec
from regard.data.image_store import load_images
from regard.data.images import write_png
from regard.data.sources import EncodedImage
from regard.data.tokenizer import Tokenizer


def grey(path: Path, value: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_png(path, np.full((24, 24, 3), value, np.uint8))
    return path


def test_the_store_keeps_an_image_once_and_says_what_is_missing(tmp_path: Path) -> None:
    for number in range(3):
        grey(tmp_path / f"{number}.png", 50 * number)
    (tmp_path / "bad.png").write_bytes(b"nothing")
    store, missing = load_images(ImageCodec(16, tmp_path), ["2.png", "bad.png", "0.png", "2.png"])
    assert store.pixels.shape == (2, 16, 16, 3) and list(missing) == [1]
    rows, mask = store.padded(np.array([2, 0]))
    assert rows.shape == (2, 1 + 3 * 16 * 16) and mask.shape == (2, 1) and mask.all()
    assert rows[0, 1] == 0 and rows[1, 1] == 100 and rows[0, 0] == 0
    assert store.lengths.tolist() == [4] * 4


def test_pairs_of_images_leave_out_and_report_what_cannot_be_read(tmp_path: Path) -> None:
    grey(tmp_path / "a.png", 10)
    (tmp_path / "bad.png").write_bytes(b"nothing")
    examples = [Example("a.png", "one"), Example("bad.png", "two"), Example("a.png", "one two three four five")]
    tokenizer = Tokenizer.train(["one two three"], "word")
    pairs, skipped = encode_pairs(examples, ImageCodec(16, tmp_path), tokenizer, 12)
    assert pairs.examples.tolist() == [0]
    assert "bad.png" in skipped[0].where and "not an image" in skipped[0].why and "12 tokens" in skipped[1].why
    batch = make_batch(pairs, [0])
    assert batch.source.shape == (1, 769) and batch.source_mask.shape == (1, 1)
    assert isinstance(pairs.source.source(0), EncodedImage)
    assert [rows.tolist() for rows in plan(pairs, 64, 1, 0)] == [[0]]
