"""Saved pictures: the ending decides, and a PNG shows what the SVG says, with its text."""

from __future__ import annotations

import io
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from regard.errors import UserError
from regard.plotting import save_picture
from regard.plotting.save import ZOOM, png
from regard.plotting.sheet import rect, sheet, text

pytest.importorskip("resvg_py")
Image = pytest.importorskip("PIL.Image")


def pixels(svg: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png(svg))).convert("RGBA"))[..., :3]


def test_a_png_shows_the_shapes_and_the_text() -> None:
    shown = pixels(sheet("t", 60, 40, [rect(0, 0, 20, 20, "#0b3d91"), text(30, 20, "MM", "title")]))
    assert shown.shape == (40 * ZOOM, 60 * ZOOM, 3)
    assert tuple(shown[10, 10]) == (11, 61, 145) and tuple(shown[-2, 2]) == (255, 255, 255)
    assert (shown[:, 60:].min(-1) < 100).sum() > 40  # the letters


def test_a_png_is_white_where_the_sheet_follows_the_page() -> None:
    assert (pixels(sheet("t", 10, 10, [], adaptive=True)) == 255).all()


def test_the_ending_decides(tmp_path: Path) -> None:
    svg = sheet("t", 10, 10, [])
    assert save_picture(tmp_path / "a.svg", svg).read_text(encoding="utf-8") == svg
    assert save_picture(tmp_path / "a.png", svg).read_bytes().startswith(b"\x89PNG")
    assert svg in save_picture(str(tmp_path / "a.html"), svg).read_text(encoding="utf-8")
    with pytest.raises(UserError, match=r"a\.pdf: a picture is saved as \.svg, \.png or \.html"):
        save_picture(tmp_path / "a.pdf", svg)
    assert not (tmp_path / "a.pdf").exists()


def test_without_the_library_or_without_fonts_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    no_fonts = types.SimpleNamespace(svg_to_bytes=lambda svg, **options: b"empty")
    monkeypatch.setitem(sys.modules, "resvg_py", no_fonts)
    with pytest.raises(UserError, match="needs a font"):
        png(sheet("t", 10, 10, []))
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(UserError, match=r"pip install 'regard\[plot\]'"):
        png(sheet("t", 10, 10, []))
