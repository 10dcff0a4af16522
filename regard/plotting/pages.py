"""Pages that work offline: everything is in the one file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

STYLE = """
  :root { color-scheme: light dark }
  body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
  table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto }
  th, td { padding: .3rem .7rem; border-bottom: 1px solid #8c959f55; text-align: right; vertical-align: top }
  th:first-child, td:first-child, .text td { text-align: left } td:first-child { white-space: nowrap }
  .wrong { color: #cf222e } .right { color: #1a7f37 }
  .key { display: inline-block; width: .8em; height: .8em; border-radius: 50% }
  svg { max-width: 100%; height: auto }
  @media (prefers-color-scheme: dark) {
    body { background: #12161c; color: #e6e9ef } .wrong { color: #ff7b72 } .right { color: #56d364 }
  }
"""


def page(title: str, parts: Sequence[str], style: str = "") -> str:
    """`parts` are HTML, `title` is text; `style` is CSS on top."""
    body = "\n".join([f"<h1>{escape(title)}</h1>", *parts])
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style>\n{body}\n</html>\n"
    )


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """Cells are HTML; a table of the kind `text` is flush left."""
    head = "<tr>" + "".join(f"<th>{title}</th>" for title in titles) + "</tr>" if titles else ""
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<table class="{kind}">{head}{body}</table>'
