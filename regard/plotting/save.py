"""Pictures in files: SVG as it is, PNG rendered from the SVG (the extra [plot]), or a page that works offline."""

from __future__ import annotations

from pathlib import Path

from regard.errors import UserError
from regard.files import write_bytes, write_text
from regard.plotting.pages import page

ENDINGS = (".svg", ".png", ".html")
NO_FONT = "a .png needs a font, and none is installed"
ZOOM = 2.0  # pixels of the PNG for one of the SVG
PROBE = '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"><text y="12">{}</text></svg>'


def check_ending(path: str | Path) -> None:
    """Refuse the name of a file that no picture can be saved as."""
    if Path(path).suffix not in ENDINGS:
        raise UserError(f"{path}: a picture is saved as .svg, .png or .html; name the file so")


def save_picture(path: str | Path, svg: str) -> Path:
    """Write the SVG as the ending of the file says."""
    check_ending(path)
    path = Path(path)
    match path.suffix:
        case ".svg":
            write_text(path, svg)
        case ".png":
            write_bytes(path, png(svg))
        case ".html":
            write_text(path, page(path.stem, [svg]))
    return path


def save_page(path: str | Path, html: str) -> Path:
    write_text(Path(path), html)
    return Path(path)


def png(svg: str) -> bytes:
    """The SVG in pixels on white, with the fonts of this machine."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise UserError("a .png needs resvg: pip install 'regard[plot]', or save as .svg or .html") from None
    if svg_to_bytes(PROBE.format("x")) == svg_to_bytes(PROBE.format("")):
        raise UserError(f"{NO_FONT} (apt install fonts-dejavu); or save as .svg")
    return svg_to_bytes(svg, zoom=ZOOM, background="#fff")
