"""Pages that speak of the software agree with it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docs_pages import ENTRY, EXPERIMENTS, GENERATED, MAKERS, PAGES, ROOT, anchor, fill, preset_drawing

from regard.checkpoint import FORMAT
from regard.config import PRESETS
from regard.data.splits import AT_MOST, SHARE
from regard.experiment.resume import EXTENDABLE
from regard.experiment.step_time import ENOUGH_EPOCHS, MOST_SECONDS, USUAL_SECONDS
from regard.experiment.tokenizer_defaults import MOST_PIECES, SIZES

UPDATE = "run `python tests/docs/docs_pages.py`"


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def words(text: str) -> list[str]:
    """Without the boxes and the line breaks that differ between versions of the library that prints --help."""
    return re.sub(r"[╭╮╰╯│─]", " ", text).split()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_generated_parts_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert words(fill(text)) == words(text), UPDATE


@pytest.mark.parametrize("name", sorted(set(MAKERS) - {"help"}))
def test_a_row_of_a_table_is_one_line(name: str) -> None:
    """A line break in it would end the table."""
    cut = [line for line in MAKERS[name]().splitlines() if line.startswith("|") != line.endswith("|")]
    assert not cut


def test_every_generated_part_is_on_a_page() -> None:
    names = [match[2] for page in PAGES for match in GENERATED.finditer(page.read_text(encoding="utf-8"))]
    assert sorted(set(names)) == sorted(MAKERS)


def test_every_preset_has_its_formula() -> None:
    by_hand = GENERATED.sub("", text_of("docs/architectures.md"))
    assert [name for name in PRESETS if f"| `{name}` |" not in by_hand] == []


def test_numbers_in_prose_are_those_of_the_code() -> None:
    page = text_of("docs/your-own-pairs.md")
    assert f"{SHARE:.0%} of the pairs, at most {AT_MOST:,}," in page
    epochs = {8: "eight"}[ENOUGH_EPOCHS]
    assert f"{USUAL_SECONDS // 60} minutes on two cores, or {epochs} epochs where these take longer" in page
    assert f"up to {MOST_SECONDS // 60} minutes" in page and f"or else into {MOST_SECONDS // 60}" in page
    assert f"{epochs} epochs by such a model are estimated to fit" in page
    sizes = [f"{pieces:,} below {characters:,}" for characters, pieces in SIZES]
    sizes[0] += " characters on the longer side"
    assert f"{', '.join(sizes)}, then {MOST_PIECES:,};" in page
    named = page.partition("What may change on `--resume`:")[2].partition("Anything else")[0]
    assert all(f"{key}`" in named for key in EXTENDABLE)
    assert f"This is format {FORMAT}," in text_of("docs/run-directory.md")
    assert f"format {FORMAT}" in text_of("CHANGELOG.md")


def test_the_changelog_knows_this_version() -> None:
    assert f"## {tomllib.loads(text_of('pyproject.toml'))['project']['version']}" in text_of("CHANGELOG.md")


def test_a_run_has_the_files_that_the_page_lists(dates_run: Path) -> None:
    listed = set(re.findall(r"`([\w./]+\.(?:json|jsonl|toml|safetensors|svg))`", text_of("docs/run-directory.md")))
    there = {str(path.relative_to(dates_run)) for path in dates_run.rglob("*") if path.is_file()}
    assert there <= listed
    # of averages, of large vocabularies, and of runs that have not ended
    assert listed - there <= {"best.safetensors", "lexicon.safetensors", "training.previous.safetensors"} | {
        "evaluation.json"  # of those that were measured with --save
    }


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link, fragment in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", page.read_text(encoding="utf-8")):
        if not link.startswith(("https://", "http://")):
            target = page.parent / link if link else page
            assert target.exists(), link
            assert not fragment or fragment in anchors(target), f"{link}#{fragment}"


def anchors(page: Path) -> set[str]:
    return {anchor(heading) for heading in re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)}


@pytest.mark.parametrize("folder", ["regard", "tests", "benchmarks"])
def test_experiments_that_comments_cite_are_there(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        for page, fragment in re.findall(r"docs/experiments/([\w-]+\.md)#([\w-]+)", path.read_text(encoding="utf-8")):
            assert fragment in anchors(ROOT / "docs" / "experiments" / page), f"{path}: {page}#{fragment}"


@pytest.mark.parametrize("page", EXPERIMENTS, ids=lambda page: page.name)
def test_entries_of_experiments_are_dated_and_in_order(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    entries = [(match[1], match[2]) for match in ENTRY.finditer(text)]
    assert [title for title, _ in entries] == re.findall(r"^## (.+)$", text, re.MULTILINE)
    dates = [date for _, date in entries]
    assert dates == sorted(dates)
    assert len({anchor(title) for title, _ in entries}) == len(entries)


def test_the_glossary_names_files_that_are_there() -> None:
    glossary = text_of("CONTRIBUTING.md").partition("## Glossary")[2].partition("\n## ")[0]
    paths = re.findall(r"`([a-z_0-9/]+(?:\.py|/))`", glossary)
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / "regard" / path).exists()] == []


def test_the_map_in_the_readme_follows_the_reading_order() -> None:
    order = re.findall(r"^\d+\. `([a-z_]+/)`", text_of("CONTRIBUTING.md"), re.MULTILINE)
    folders = re.findall(r"^  ([a-z_]+/) ", text_of("README.md"), re.MULTILINE)
    assert [folder for folder in folders if folder != "recipes/"] == order


def test_every_page_is_in_the_navigation() -> None:
    nav = tomllib.loads(text_of("zensical.toml"))["project"]["nav"]
    there = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(navigated(nav)) == sorted(there)


def navigated(nav: list[dict[str, Any]]) -> Iterator[str]:
    for entry in nav:
        for page in entry.values():
            yield from [page] if isinstance(page, str) else navigated(page)


def test_the_website_builds(tmp_path: Path) -> None:
    pytest.importorskip("zensical", reason="an extra: `make docs` installs it")
    (tmp_path / "regard").symlink_to(ROOT / "regard")
    shutil.copytree(
        ROOT / "docs", tmp_path / "docs"
    )  # copied: zensical follows links, and builds beside the real files
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    subprocess.run([sys.executable, "-m", "zensical", "build"], cwd=tmp_path, check=True, timeout=120)
    assert (tmp_path / "site" / "index.html").is_file()


@pytest.mark.parametrize("name", PRESETS)
def test_drawings_of_presets_are_up_to_date(name: str) -> None:
    assert text_of(f"docs/images/presets/{name}.svg") == preset_drawing(name), UPDATE
