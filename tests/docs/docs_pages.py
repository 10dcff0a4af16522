"""The pages: their code blocks, and the parts that are generated from the software.

`python tests/docs/docs_pages.py` writes the generated parts anew; a test says when that is due.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from notebooks import write_pages
from rich.console import Console

from regard.analysis.diagram import diagram
from regard.apps.lessons import LESSONS
from regard.cli import app
from regard.config import PRESETS, Settings, plan_model, settle, shipped_recipes
from regard.config.section import how_chosen
from regard.data.embedded import EMBEDDED
from regard.models.build import build_model

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
EXPERIMENTS = [path for path in PAGES if path.parent.name == "experiments" and path.name != "index.md"]
ENTRY = re.compile(r"^## (.+)\n\n\*(\d{4}-\d\d-\d\d)(?: and \d{4}-\d\d-\d\d)?(?:: (.+))?\*\n\n", re.MULTILINE)
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GENERATED = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
VERBS = (
    "",
    "demo",
    "train",
    "translate",
    "evaluate",
    "import",
    "calibrate",
    "export",
    "pack",
    "look",
    "look tree",
    "look ablation",
    "probe",
    "probe ablation",
    "probe roles",
    "lesson",
    "compare",
    "describe",
    "data list",
    "data inspect",
    "data fetch",
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line where it starts."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A command (with the lines it continues on), and the output that the page shows."""

    text: str
    output: str
    line: int


def blocks(page: str) -> list[Block]:
    """All fenced blocks, but those inside generated parts."""
    own = GENERATED.sub(lambda part: "\n" * part[0].count("\n"), page)
    return [Block(m[1], m[2], own[: m.start()].count("\n") + 2) for m in FENCE.finditer(own)]


def commands(block: Block) -> Iterator[Command]:
    """Of a console block: what follows each `$ `. Of an sh block, which is for copying: every line, without outputs."""
    prompt = "$ " if block.language == "console" else ""
    lines = block.text.replace(".venv/bin/", "").splitlines()
    first = [prompt != "" or not number or not lines[number - 1].endswith("\\") for number in range(len(lines))]
    starts = [number for number, line in enumerate(lines) if line.strip() and line.startswith(prompt) and first[number]]
    assert starts and starts[0] == 0, f"a console block starts with `$ `: {lines[:1]}"
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        after = start
        while lines[after].endswith("\\"):
            after += 1
        text = " ".join(line.removeprefix(prompt).removesuffix("\\").strip() for line in lines[start : after + 1])
        yield Command(text, "\n".join(lines[after + 1 : end]).strip("\n"), block.line + start)


# --- the generated parts ---------------------------------------------------------------------------------------------


def settings() -> str:
    """Every setting, by section."""
    parts = []
    for name, field in Settings.model_fields.items():
        section = field.get_default().__class__
        rows = [f"## `[{name}]`\n", f"{section.__doc__}\n", "| key | values | default | |", "|---|---|---|---|"]
        for key, info in section.model_fields.items():
            how = how_chosen(section, key)
            default = how or ("" if info.default is None else f"`{_toml(info.default)}`")
            about = (info.description or "").removesuffix(f" (default: {how})").replace("|", "\\|")
            rows.append(f"| `{key}` | {_values(info.annotation, info.metadata)} | {default} | {about} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def help_texts() -> str:
    """What --help prints, verb by verb."""
    parts = []
    for verb in VERBS:
        file = io.StringIO()
        app.help_print(verb.split(), console=Console(file=file, width=100, color_system=None, force_terminal=False))
        text = "\n".join(line.rstrip() for line in file.getvalue().strip().splitlines())
        parts.append(f"## `regard{' ' if verb else ''}{verb}`\n\n```text\n{text}\n```")
    return "\n\n".join(parts)


def presets() -> str:
    """The fields that make each preset."""
    rows = ["| preset | what it is | fields |", "|---|---|---|"]
    for name, preset in PRESETS.items():
        fields = ", ".join(f"`{key} = {_toml(value)}`" for key, value in preset.fields.items())
        rows.append(f"| `{name}` | {preset.about.replace('|', chr(92) + '|')} | {fields} |")
    return "\n".join(rows)


def corpora() -> str:
    """Each embedded corpus with an example."""
    rows = ["| corpus | what it is | source | target |", "|---|---|---|---|"]
    for name, corpus in EMBEDDED.items():
        source, target = (_cell(text) for text in (corpus.example.source, corpus.example.target))
        rows.append(f"| `{name}` | {corpus.about} | {source} | {target} |")
    return "\n".join(rows)


def recipes() -> str:
    """What the first lines of each recipe say."""
    rows = ["| recipe | |", "|---|---|"]
    for name, path in shipped_recipes().items():
        comment = []
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                break
            comment.append(line.removeprefix("#").strip())
        rows.append(f"| `{name}` | {' '.join(comment).replace('|', chr(92) + '|')} |")
    return "\n".join(rows)


def lessons() -> str:
    """Each lesson with its claim."""
    rows = ["| lesson | claim | source |", "|---|---|---|"]
    return "\n".join([*rows, *(f"| `{one.name}` | {one.claim} | {one.after} |" for one in LESSONS)])


def experiments() -> str:
    """Every entry of the experiments log, oldest first."""
    entries = [
        (match[2], path.name, match[1], match[3] or "")
        for path in EXPERIMENTS
        for match in ENTRY.finditer(path.read_text(encoding="utf-8"))
    ]
    entries.sort(key=lambda entry: entry[0])  # stable: within a day, page by page
    topics = {path.name: path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for path in EXPERIMENTS}
    rows = ["| date | topic | entry | |", "|---|---|---|---|"]
    for date, page, title, result in entries:
        rows.append(f"| {date} | {topics[page]} | [{title}]({page}#{anchor(title)}) | {result} |")
    return "\n".join(rows)


def diagrams() -> str:
    """Each preset drawn from its modules; the drawings are files of their own."""
    return "\n\n".join(f"**`{name}`**\n\n![the modules of {name}](images/presets/{name}.svg)" for name in PRESETS)


def preset_drawing(name: str) -> str:
    model = plan_model(settle({"model": {"preset": name, "width": 16, "heads": 4}}).model)
    return diagram(build_model(model, 9, 11, shared=False, seed=1), name)


def write_drawings() -> None:
    folder = ROOT / "docs" / "images" / "presets"
    folder.mkdir(exist_ok=True)
    for name in PRESETS:
        (folder / f"{name}.svg").write_text(preset_drawing(name), encoding="utf-8")


MAKERS: dict[str, Callable[[], str]] = {
    "settings": settings,
    "help": help_texts,
    "presets": presets,
    "corpora": corpora,
    "diagrams": diagrams,
    "recipes": recipes,
    "lessons": lessons,
    "experiments": experiments,
}


def anchor(heading: str) -> str:
    """The fragment that the website and GitHub give a heading."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


def fill(page: str) -> str:
    """The page with its generated parts made anew."""
    return GENERATED.sub(lambda part: f"{part[1]}\n{MAKERS[part[2]]()}\n\n{part[3]}", page)


def _values(annotation: Any, metadata: list[Any]) -> str:
    choices = [arg for arg in get_args(annotation) if arg is not type(None)]
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{choice}`" for choice in choices)
    if hasattr(annotation, "__metadata__"):  # Annotated
        return _values(annotation.__origin__, list(annotation.__metadata__))
    if choices:  # X | None
        return _values(choices[0], metadata)
    limits = [f"{sign} {value}" for sign, value in _limits(metadata)]
    name = {"str": "text", "int": "whole number", "float": "number", "bool": "`true`, `false`"}[annotation.__name__]
    return " ".join((name, " and ".join(limits))).strip()


def _limits(metadata: list[Any]) -> Iterator[tuple[str, Any]]:
    for entry in metadata:
        for one in getattr(entry, "metadata", [entry]):
            for key, sign in (("gt", ">"), ("ge", "≥"), ("lt", "<"), ("le", "≤")):
                if getattr(one, key, None) is not None:
                    yield sign, getattr(one, key)


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def _cell(text: str) -> str:
    flat = " ".join(text.split()).replace("|", "\\|").replace("*", "\\*")
    return flat if len(flat) <= 90 else flat[:89] + "…"


if __name__ == "__main__":
    write_pages()
    write_drawings()
    for path in PAGES:
        before = path.read_text(encoding="utf-8")
        if (after := fill(before)) != before:
            path.write_text(after, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
