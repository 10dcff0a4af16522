"""Caption files of every kind become the same pairs, split by image."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from regard.config import DataSettings
from regard.data import load_corpus
from regard.data.image_codec import split_reference
from regard.data.images import write_png
from regard.errors import UserError


def grey(path: Path, value: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_png(path, np.full((24, 24, 3), value, np.uint8))
    return path


def captions(folder: Path, count: int = 12) -> list[tuple[str, str]]:
    rows = []
    for number in range(count):
        grey(folder / "photos" / f"{number}.jpg.png", 20 * number)
        rows.append((f"{number}.jpg.png", f"a grey square, number {number}"))
    return rows


def write(folder: Path, kind: str) -> Path:
    rows = captions(folder)
    path = folder / f"captions.{kind}"
    if kind == "json":
        images = [{"id": 10 + i, "file_name": name} for i, (name, _) in enumerate(rows)]
        notes = [{"image_id": 10 + i, "caption": f" {text}\n"} for i, (_, text) in enumerate(rows)]
        path.write_text(json.dumps({"images": images, "annotations": notes}))
    elif kind == "txt":
        path.write_text("".join(f"{name}#{n % 5}\t{text}\n" for n, (name, text) in enumerate(rows)))
    elif kind == "csv":
        path.write_text("image,caption\n" + "".join(f"{name},{text}\n" for name, text in rows))
    elif kind == "jsonl":
        path.write_text("".join(json.dumps({"source": name, "target": text}) + "\n" for name, text in rows))
    else:
        path.write_text("".join(f"{name}\t{text}\n" for name, text in rows))
    return path


@pytest.mark.parametrize("kind", ["tsv", "jsonl", "json", "txt", "csv"])
def test_every_kind_of_caption_file_gives_the_same_pairs(tmp_path: Path, kind: str) -> None:
    corpus = load_corpus(DataSettings(pairs=str(write(tmp_path, kind)), images=str(tmp_path / "photos")))
    assert (
        corpus.task == "captioning"
        and corpus.model == "image-grid-transformer"
        and corpus.images == tmp_path / "photos"
    )
    rows = sorted((row.source, row.target) for split in corpus.splits().values() for row in split)
    assert rows == sorted(captions(tmp_path))


def test_names_are_relative_to_the_caption_file_unless_a_folder_is_given(tmp_path: Path) -> None:
    path = write(tmp_path, "tsv")
    assert load_corpus(DataSettings(pairs=str(path))).images == tmp_path


def test_an_image_is_in_one_split_whatever_word_goes_with_it(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{n}.png#{word}\tcaption {n}\n" for n in range(20) for word in ("de", "en", "fr")))
    corpus = load_corpus(DataSettings(pairs=str(path), dev_examples=6, test_examples=6))
    sides = [{split_reference(row.source)[0] for row in rows} for rows in corpus.splits().values()]
    assert not sides[0] & sides[1] and not sides[0] & sides[2] and not sides[1] & sides[2]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{", "not a caption file of COCO"),
        ("a.json", '{"images": [], "annotations": [{"image_id": 4, "caption": "x"}]}', "image_id = 4"),
        ("a.txt", "a.png#0\tone\nb.png\n", "a.txt:2: no caption"),
        ("a.tsv", "some text\ttarget\nother\ttarget two\nthird\tt\n", "'some text' is no image's name"),
    ],
)
def test_bad_caption_files_are_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=message):
        load_corpus(DataSettings(pairs=str(tmp_path / name), images=str(tmp_path)))
