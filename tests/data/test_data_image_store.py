"""Pictures in the place of text: scenes, references, galleries, and the corpora made of them."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import numpy as np
import pytest

from regard.config import DataSettings
from regard.data import load_corpus
from regard.data.batches import encode_pairs, make_batch, plan
from regard.data.embedded.scene import COLOURS, Scene, Thing, draw, parse
from regard.data.embedded.shapes import compose, mentions
from regard.data.examples import Example
from regard.data.image_store import ImageCodec, Picture, are_pictures, load_images, split_reference
from regard.data.images import write_png
from regard.data.tokenizer import Tokenizer
from regard.errors import UserError

SCENE = "scene 7: small red circle 20,14; striped blue square 24,44"


def grey(path: Path, value: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_png(path, np.full((24, 24, 3), value, np.uint8))
    return path


# --- scenes ----------------------------------------------------------------------------------------------------------


def test_a_scene_is_written_as_it_is_read() -> None:
    scene = parse(SCENE)
    assert scene.things[0] == Thing("small", "plain", "red", "circle", 20, 14)
    assert str(scene) == SCENE
    generator = random.Random(3)
    for _ in range(200):
        scene, _ = compose(generator)
        assert parse(str(scene)) == scene


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scene x: red circle 1,1", "is not a scene"),
        ("scene 1: crimson circle 1,1", "'crimson' cannot be drawn"),
        ("scene 1: red circle", "is no object with a place"),
        ("scene 1: circle 3,3", "is no object with a place"),
    ],
)
def test_what_is_no_scene_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse(text)


@pytest.mark.parametrize("size", [32, 64, 160])
def test_things_are_drawn_where_they_are_said_to_be(size: int) -> None:
    for colour in COLOURS:
        thing = Thing("large", "plain", colour, "square", 20, 40)
        pixels = draw(Scene(5, (thing,)), size).astype(float)
        ground = draw(Scene(5, (Thing("small", "plain", "red", "circle", 60, 5),)), size).astype(float)
        changed = abs(pixels - ground).max(-1) > 8
        left, top, right, bottom = (round(edge * size / 64) for edge in thing.box)
        edge = round(0.25 * (right - left) / 2)
        assert changed[top + edge : bottom - edge, left + edge : right - edge].all()
        outside = changed.copy()
        outside[: 13 * size // 64, 50 * size // 64 :] = False  # the other thing
        outside[top:bottom, left:right] = False
        assert not outside.any()


def test_a_scene_is_drawn_alike_each_time_and_textures_differ() -> None:
    scene = parse(SCENE)
    assert np.array_equal(draw(scene, 64), draw(scene, 64))
    pictures = [
        draw(Scene(5, (Thing("large", texture, "green", "circle", 32, 32),)), 64).tobytes()
        for texture in ("plain", "striped", "dotted")
    ]
    assert len(set(pictures)) == 3


def test_the_corpus_says_nothing_twice_and_is_the_same_each_time() -> None:
    config = DataSettings(corpus="shapes", examples=400, dev_examples=50, test_examples=60)
    corpus = load_corpus(config)
    rows = [example for split in corpus.splits().values() for example in split]
    assert [len(split) for split in corpus.splits().values()] == [400, 50, 60]
    assert len({row.target for row in rows}) == len({row.source for row in rows}) == 510
    assert load_corpus(config).train == corpus.train
    assert load_corpus(config.model_copy(update={"seed": 2})).train != corpus.train
    words = " ".join(row.target for row in rows)
    assert all(word in words for word in ("above", "left of", "inside", "in the middle", "small", "striped", "star"))


def test_captions_are_true() -> None:
    """What is said to be above, left or inside is; and nothing sticks out of the picture."""
    generator = random.Random(1)
    for _ in range(400):
        scene, caption = compose(generator)
        things = [thing for thing, _ in mentions(scene, caption)]
        for one, other in itertools.pairwise(things):
            if " above " in caption:
                assert one.box[3] <= other.box[1] + 1
            elif " left of " in caption:
                assert one.box[2] <= other.box[0] + 1
            else:
                assert other.box[0] < one.box[0] and one.box[2] < other.box[2] and one.colour != other.colour
        assert all(-0.5 <= edge <= 64.5 for thing in things for edge in thing.box)
        for thing, (start, end) in mentions(scene, caption):
            assert caption[start:end] == thing.shape


# --- references and the reader ---------------------------------------------------------------------------------------


def test_a_word_may_go_with_a_picture() -> None:
    assert split_reference("a b.png#fr") == ("a b.png", "fr")
    assert split_reference("a.JPG") == ("a.JPG", "")
    assert split_reference("some text") == ("some text", "")
    assert are_pictures(["a.png", "b/c.jpeg#de"]) and not are_pictures(["a.png", "a text"]) and not are_pictures([])


def test_the_reader_gives_pixels_and_the_number_of_the_word(tmp_path: Path) -> None:
    grey(tmp_path / "a.png", 60)
    reader = ImageCodec.train(["a.png#fr", "a.png#de"], 16, tmp_path)
    assert reader.words == ("de", "fr") and reader.size == 3
    picture = reader.encode("a.png#fr")
    assert picture.word == 2 and picture.pixels.shape == (16, 16, 3) and len(picture) == 4
    assert [len(cell) for cell in picture] == [8 * 8 * 3] * 4 and picture[-1] == picture[3]
    assert reader.tokens(picture) == ["0,0", "0,1", "1,0", "1,1"]
    reader.save(tmp_path / "source.json")
    again = ImageCodec.load(tmp_path / "source.json", 16, tmp_path)
    assert again.words == reader.words and np.array_equal(again.encode("a.png#fr").pixels, picture.pixels)


@pytest.mark.parametrize(
    ("known", "reference", "message"),
    [
        (("a.png#fr",), "a.png#it", "#it is unknown; add one of #fr"),
        (("a.png#fr",), "a.png", "a word must go with it"),
        (("a.png",), "a.png#fr", "the model knows no such words"),
        (("a.png",), "b.png", "b.png: there is no such file"),
    ],
)
def test_what_the_reader_refuses(tmp_path: Path, known: tuple[str, ...], reference: str, message: str) -> None:
    grey(tmp_path / "a.png", 60)
    with pytest.raises(UserError, match=message):
        ImageCodec.train(known, 16, tmp_path).encode(reference)


def test_the_gallery_keeps_a_picture_once_and_tells_what_is_missing(tmp_path: Path) -> None:
    for number in range(3):
        grey(tmp_path / f"{number}.png", 50 * number)
    (tmp_path / "bad.png").write_bytes(b"nothing")
    reader = ImageCodec(16, tmp_path)
    found, missing = load_images(reader, ["2.png", "bad.png", "0.png", "2.png"])
    assert found.pixels.shape == (2, 16, 16, 3) and list(missing) == [1]
    rows, mask = found.padded(np.array([2, 0]))
    assert rows.shape == (2, 1 + 3 * 16 * 16) and mask.shape == (2, 1) and mask.all()
    assert rows[0, 1] == 0 and rows[1, 1] == 100 and rows[0, 0] == 0
    assert found.lengths.tolist() == [4] * 4


def test_pairs_of_pictures_leave_out_and_report_what_cannot_be_read(tmp_path: Path) -> None:
    grey(tmp_path / "a.png", 10)
    (tmp_path / "bad.png").write_bytes(b"nothing")
    examples = [Example("a.png", "one"), Example("bad.png", "two"), Example("a.png", "one two three four five")]
    tokenizer = Tokenizer.train(["one two three"], "word")
    pairs, skipped = encode_pairs(examples, ImageCodec(16, tmp_path), tokenizer, 12)
    assert pairs.examples.tolist() == [0]
    assert "bad.png" in skipped[0].where and "not an image" in skipped[0].why and "12 tokens" in skipped[1].why
    batch = make_batch(pairs, [0])
    assert batch.source.shape == (1, 769) and batch.source_mask.shape == (1, 1)
    assert isinstance(pairs.source.source(0), Picture)
    assert [rows.tolist() for rows in plan(pairs, 64, 1, 0)] == [[0]]


# --- corpora of the user's -------------------------------------------------------------------------------------------


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
    assert corpus.task == "captioning" and corpus.model == "image-lstm" and corpus.images == tmp_path / "photos"
    rows = sorted((row.source, row.target) for split in corpus.splits().values() for row in split)
    assert rows == sorted(captions(tmp_path))


def test_names_lead_from_the_file_that_says_them_unless_a_folder_is_given(tmp_path: Path) -> None:
    path = write(tmp_path, "tsv")
    assert load_corpus(DataSettings(pairs=str(path))).images == tmp_path


def test_a_picture_is_never_on_two_sides_whatever_is_asked_of_it(tmp_path: Path) -> None:
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
        ("a.tsv", "some text\ttarget\nother\ttarget two\nthird\tt\n", "'some text' is no picture's name"),
    ],
)
def test_bad_caption_files_are_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=message):
        load_corpus(DataSettings(pairs=str(tmp_path / name), images=str(tmp_path)))
