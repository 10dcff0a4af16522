"""The notebooks of the course: valid, short cells, and the pages on the website are those that they make.

The code runs as that of every other page does, in test_docs_blocks.py, hidden solutions included.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from notebooks import COURSE, NOTEBOOKS, cells, page_of

LINES = 12  # of a cell, at most: calls of the library, not programs


def test_there_are_five() -> None:
    assert len(NOTEBOOKS) == 5


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_is_valid_and_its_page_is_up_to_date(notebook: Path) -> None:
    record = json.loads(notebook.read_text(encoding="utf-8"))
    assert (record["nbformat"], record["metadata"]["kernelspec"]["language"]) == (4, "python")
    code = [cell for cell in cells(notebook) if cell["cell_type"] == "code"]
    assert len(code) >= 5 and all(len(cell["source"]) <= LINES for cell in code)
    for cell in code:
        compile("".join(cell["source"]), notebook.name, "exec")
    text, pictures = page_of(notebook)
    assert text == (COURSE / f"{notebook.stem}.md").read_text(encoding="utf-8"), "run `python tests/docs/docs_pages.py`"
    for name, picture in pictures.items():
        assert (COURSE / name).read_text(encoding="utf-8") == picture
    assert text.count("<details") == text.count("</details>") >= 2, "exercises have hidden solutions"
