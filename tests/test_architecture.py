"""The shape of the house: reading order is import order, files and functions stay small, `--help` loads no torch."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import regard

ROOT = Path(regard.__file__).parent
CONTRIBUTING = (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
READING_ORDER = CONTRIBUTING.partition("## Reading order")[2].partition("\n## ")[0]
ORDER = re.findall(r"^\d+\. `([a-z0-9]+)(?:/|\.py)`", READING_ORDER, re.MULTILINE)
FILES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}
BENCHMARKS = {f"benchmarks/{path.name}": path for path in sorted((ROOT.parent / "benchmarks").glob("*.py"))}
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES.values()}
TESTS = sorted(Path(__file__).parent.rglob("test_*.py"))
# Tests of what several modules of a room do together. Every other test file is that of one module.
ROOM_WIDE = {
    "": {"architecture", "hostile_runs", "wheel"},
    "analysis": {"pages"},
    "apps/lessons": {"interrupt", "machinery"},
    "cli": {"refusals", "verbs"},
    "config": {"corners"},
    "formats": {"bilingual", "conformance"},
    "inference": {"models", "search"},
    "models": {"contract", "decoders", "grid", "layers", "learning", "taps"},
    "nn": {"gradients"},
    "pipeline": {"load"},
    "plotting": {"charts", "pages"},
    "server": {"clients", "openapi"},
}
DOORS = {"__init__.py", "__main__.py"}  # stand outside the rooms


def room(file: str) -> str:
    return Path(file).parts[0].removesuffix(".py")


def imported(tree: ast.Module) -> set[str]:
    """Rooms of regard that a file imports, late imports inside functions included."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "write imports in full"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] if "." in name else "" for name in names if name.split(".")[0] == "regard"}


def test_the_reading_order_names_every_room_once() -> None:
    assert sorted(ORDER) == sorted({room(file) for file in FILES if file not in DOORS})


@pytest.mark.parametrize("file", [file for file in FILES if file not in DOORS])
def test_nothing_imports_against_the_reading_order(file: str) -> None:
    later = ORDER[ORDER.index(room(file)) + 1 :]  # a room without a place in the order fails here
    for name in imported(TREES[FILES[file]]):
        assert name not in later and (name in ORDER or name.startswith("__") or room(file) == "cli")


MODULES = {f"regard.{file[:-3].replace('/', '.')}".removesuffix(".__init__"): TREES[FILES[file]] for file in FILES}


def imports_at_load(tree: ast.Module) -> set[str]:
    """Modules of regard that importing this file imports: neither for type checks nor inside functions."""
    nodes, names = list(tree.body), set()
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= inner & MODULES.keys() | ({f"{node.module}"} if inner - MODULES.keys() else set())
        elif isinstance(node, ast.Try) or (isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test)):
            nodes += node.body
    return names & MODULES.keys()


def test_no_module_imports_itself_through_others() -> None:
    imports = {name: imports_at_load(tree) for name, tree in MODULES.items()}
    while leaves := {name for name, used in imports.items() if not used}:
        imports = {name: used - leaves for name, used in imports.items() if name not in leaves}
    assert not imports, f"these modules are on an import cycle, or import one that is: {', '.join(imports)}"


def test_the_core_imports_nothing_of_the_applications() -> None:
    """Only the commands that run them, and they themselves."""
    users = {file for file in FILES if "apps" in imported(TREES[FILES[file]])}
    assert {file for file in users if room(file) != "apps"} <= {"cli/compare.py", "cli/lesson.py"}


@pytest.mark.parametrize("file", [*FILES, *BENCHMARKS])
def test_files_and_functions_stay_small(file: str) -> None:
    text = {**FILES, **BENCHMARKS}[file].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno - docstring_lines(node) < 60, node.name


def docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Help texts of the command line and formulas do not count as code."""
    return len((ast.get_docstring(node) or "").splitlines())


@pytest.mark.parametrize(
    "term",
    [
        "beam search",
        "label smoothing",
        "teacher forcing",
        "positional encoding",
        "gradient accumulation",
        "early stopping",
        "checkpoint averaging",
        "shortlist",
        "knowledge distillation",
    ],
)
def test_the_fields_terms_are_found_by_name(term: str) -> None:
    """In a file's name, or in the docstring at its head."""
    heads = {file: f"{Path(file).stem.replace('_', ' ')} {ast.get_docstring(TREES[FILES[file]])}" for file in FILES}
    assert any(term in " ".join(head.lower().split()) for head in heads.values())


def defined_names(tree: ast.Module) -> Iterator[str]:
    """Classes and type aliases of a module: what has a capital letter and is neither a constant nor a type variable."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and "TypeVar(" not in ast.unparse(node):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            yield from (name for name in names if name[0].isupper() and not name.isupper())


def test_no_two_classes_or_type_aliases_share_a_name() -> None:
    places: dict[str, list[str]] = {}
    for file, path in FILES.items():
        for name in defined_names(TREES[path]):
            places.setdefault(name, []).append(file)
    shared = {name: files for name, files in places.items() if len(files) > 1}
    assert not shared


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_every_test_file_mirrors_a_module(path: Path) -> None:
    """tests/ROOM/test_ROOM_MODULE.py tests regard/ROOM/MODULE.py, a folder of it, or the whole room (ROOM_WIDE)."""
    *rooms, name = path.relative_to(Path(__file__).parent).parts
    subject = name.removeprefix("test_").removesuffix(".py")
    if rooms and rooms[0] in ("docs", "benchmarks"):
        return
    if rooms:
        assert subject.startswith(f"{rooms[-1]}_"), f"name it test_{rooms[-1]}_….py"
        subject = subject.removeprefix(f"{rooms[-1]}_")
    target = ROOT.joinpath(*rooms, subject)
    whole = ROOM_WIDE.get("/".join(rooms), set())
    assert subject in whole or target.is_dir() or target.with_suffix(".py").is_file(), f"there is no {target}.py"


def test_files_are_named_after_what_they_hold() -> None:
    assert not {"utils", "helpers", "common", "manager", "base"} & {part for f in FILES for part in Path(f[:-3]).parts}


@pytest.mark.parametrize("module", ["regard", "regard.config", "regard.cli"])
def test_settings_and_help_load_no_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_public_names_are_sorted_and_there() -> None:
    assert regard.__all__ == sorted(regard.__all__, key=lambda n: (not n.isupper(), not n[0].isupper(), n))
    assert not [name for name in regard.__all__ if not hasattr(regard, name)]
