"""The notebooks of docs/course/ as pages of the website: a page and its pictures are made from the notebook alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

COURSE = Path(__file__).resolve().parents[2] / "docs" / "course"
NOTEBOOKS = sorted(COURSE.glob("*.ipynb"))
MARK = "<!-- written from {name} by tests/docs/docs_pages.py -->"


def page_of(notebook: Path) -> tuple[str, dict[str, str]]:
    """The page in Markdown, and its pictures by name: cells in their order, each with the outputs that are stored."""
    pictures: dict[str, str] = {}
    title, *others = [_markdown(cell, notebook, pictures) for cell in cells(notebook)]
    link = f"[Download the notebook]({notebook.name}) to run it."
    return "\n\n".join([title, link, *others, MARK.format(name=notebook.name)]) + "\n", pictures


def cells(notebook: Path) -> list[dict[str, Any]]:
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def write_pages() -> None:
    for notebook in NOTEBOOKS:
        text, pictures = page_of(notebook)
        for path, content in {f"{notebook.stem}.md": text, **pictures}.items():
            file = COURSE / path
            file.parent.mkdir(exist_ok=True)
            if not file.is_file() or file.read_text(encoding="utf-8") != content:
                file.write_text(content, encoding="utf-8")


def _markdown(cell: dict[str, Any], notebook: Path, pictures: dict[str, str]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    code = source.removesuffix(";")  # in a notebook it hides what a call returns
    parts = [f"```python\n{code}\n```"]
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/svg+xml" in data:
            name = f"images/{notebook.stem}-{len(pictures) + 1}.svg"
            pictures[name] = "".join(data["image/svg+xml"])
            parts.append(f"![what the cell above draws]({name})")
        elif text := "".join(output.get("text") or data.get("text/plain", "")).rstrip():
            parts.append(f"```text\n{text}\n```")
    return "\n\n".join(parts)
