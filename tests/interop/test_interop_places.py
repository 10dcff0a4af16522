"""An export is there whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.errors import UserError
from regard.interop.places import new_file, new_folder


def test_a_folder_takes_its_name_when_it_is_whole(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "place"
    with new_folder(place) as folder:
        (folder / "a").write_text("1")
        assert not place.exists()
    assert (place / "a").read_text() == "1" and list(place.parent.iterdir()) == [place]


def test_an_empty_folder_may_be_there(tmp_path: Path) -> None:
    with new_folder(tmp_path / "x") as folder:
        (folder / "a").write_text("1")
    (tmp_path / "y").mkdir()
    with new_folder(tmp_path / "y") as folder:
        (folder / "b").write_text("2")
    assert (tmp_path / "y" / "b").is_file()


@pytest.mark.parametrize("kind", [new_folder, new_file])
def test_what_fails_leaves_nothing(kind, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), kind(tmp_path / "place") as part:
        if kind is new_file:
            part.write_text("half")
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [new_folder, new_file])
def test_what_is_there_stays(kind, tmp_path: Path) -> None:
    (tmp_path / "place").write_text("mine")
    with pytest.raises(UserError, match="exists already"), kind(tmp_path / "place"):
        raise AssertionError("not reached")
    assert (tmp_path / "place").read_text() == "mine"
