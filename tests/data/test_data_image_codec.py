"""References to images: a file's name or a scene, and a word that may go with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from regard.data.image_codec import ImageCodec, are_images, read_view, split_reference
from regard.data.images import Unreadable, write_png
from regard.errors import UserError

SCENE = "scene 7: small red circle 20,14; striped blue square 24,44"


def grey(path: Path, value: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_png(path, np.full((24, 24, 3), value, np.uint8))
    return path


def test_a_word_may_go_with_an_image() -> None:
    assert split_reference("a b.png#fr") == ("a b.png", "fr")
    assert split_reference("a.JPG") == ("a.JPG", "")
    assert split_reference("some text") == ("some text", "")
    assert are_images(["a.png", "b/c.jpeg#de"]) and not are_images(["a.png", "a text"]) and not are_images([])


def test_the_codec_gives_pixels_and_the_id_of_the_word(tmp_path: Path) -> None:
    grey(tmp_path / "a.png", 60)
    codec = ImageCodec.train(["a.png#fr", "a.png#de"], 16, tmp_path)
    assert codec.words == ("de", "fr") and codec.size == 3
    image = codec.encode("a.png#fr")
    assert image.word == 2 and image.pixels.shape == (16, 16, 3) and len(image) == 4
    assert [len(cell) for cell in image] == [8 * 8 * 3] * 4 and image[-1] == image[3]
    assert codec.source_tokens(image) == ["0,0", "0,1", "1,0", "1,1"]
    codec.save(tmp_path / "source.json")
    again = ImageCodec.load(tmp_path / "source.json", 16, tmp_path)
    assert again.same_as(codec) and not again.same_as(ImageCodec(16, tmp_path))
    assert again.words == codec.words and np.array_equal(again.encode("a.png#fr").pixels, image.pixels)


@pytest.mark.parametrize(
    ("known", "reference", "message"),
    [
        (("a.png#fr",), "a.png#it", "#it is unknown; add one of #fr"),
        (("a.png#fr",), "a.png", "a word must go with it"),
        (("a.png",), "a.png#fr", "the model knows no such words"),
        (("a.png",), "b.png", "b.png: there is no such file"),
    ],
)
def test_what_the_codec_refuses(tmp_path: Path, known: tuple[str, ...], reference: str, message: str) -> None:
    grey(tmp_path / "a.png", 60)
    with pytest.raises(UserError, match=message):
        ImageCodec.train(known, 16, tmp_path).encode(reference)


def test_a_view_is_of_a_scene_or_of_a_file_in_a_folder(tmp_path: Path) -> None:
    grey(tmp_path / "a.png", 60)
    view = read_view("a.png#fr", 40, tmp_path)
    assert not isinstance(view, Unreadable) and view.shape == (40, 40, 3) and (view == 60).all()
    scene = read_view(SCENE, 24)
    assert not isinstance(scene, Unreadable) and scene.shape == (24, 24, 3)
    assert isinstance(read_view("none.png", 40, tmp_path), Unreadable)
