r"""Reading and writing pairs: parallel text files, TSV and JSONL, gzipped or not. Only \n (or \r\n) ends a line."""

from __future__ import annotations

import contextlib
import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from regard.data.examples import Example, Skipped, Task
from regard.errors import UserError
from regard.files import write_text

GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Reading:
    """What a file holds, and the lines that were left out."""

    examples: list[Example]
    skipped: list[Skipped]
    notes: tuple[str, ...] = ()
    task: Task | None = None  # where the format of the file says what it is for


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a UTF-8 file, zipped or not, without their ends; a pipe is read as well."""
    try:
        with Path(path).open("rb") as file:
            yield from stream_lines(file, str(path))
    except OSError as error:
        raise UserError(f"{path}: cannot read it: {error.strerror or error}") from None


def stream_lines(plain: BufferedReader, path: str) -> Iterator[str]:
    """The same from an open file; `path` is its name in errors."""
    number = 0
    try:
        stream = gzip.GzipFile(fileobj=plain) if plain.peek(2)[:2] == GZIP else plain
        for number, raw in enumerate(stream, start=1):
            line = raw.removesuffix(b"\n").removesuffix(b"\r")
            yield (line.removeprefix(BOM) if number == 1 else line).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}:{number}: invalid UTF-8, byte 0x{error.object[error.start]:02X} at column {error.start + 1}; "
            "convert it to UTF-8"
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path}: damaged gzip file after line {number}: {error}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot read it: {error.strerror or error}") from None


def read_parallel(source: str | Path, target: str | Path) -> Reading:
    """Two files, one example a line number."""
    sources, targets = list(read_lines(source)), list(read_lines(target))
    if len(sources) != len(targets):
        raise UserError(
            f"{source} has {len(sources)} lines and {target} has {len(targets)}; parallel files need equally many"
        )
    pairs = [(f"{source}:{n}", *sides) for n, sides in enumerate(zip(sources, targets, strict=True), 1)]
    return without_empty(pairs)


def read_pairs(path: str | Path) -> Reading:
    """A .tsv or .jsonl file, with or without .gz after it."""
    kind = Path(path).name.lower().removesuffix(".gz").rpartition(".")[2]
    if kind not in ("tsv", "jsonl"):
        raise UserError(
            f"{path}: pairs are read from .tsv (source TAB target), .jsonl or .conllu files, .gz allowed, "
            "and from translators' files (.tmx, .xliff, .po, .csv …); rename or convert it"
        )
    split = _tsv_columns if kind == "tsv" else _json_fields
    pairs: list[tuple[str, str, str]] = []
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path}:{number}"
        source, target = split(where, line) if line.strip() else ("", "")
        pairs.append((where, source, target))
    return without_empty(pairs)


def _tsv_columns(where: str, line: str) -> tuple[str, str]:
    columns = line.split("\t")
    if len(columns) != 2:
        raise UserError(
            f"{where}: {len(columns)} column{'s' * (len(columns) != 1)} instead of 2; write source, TAB, target"
        )
    return columns[0], columns[1]


def _json_fields(where: str, line: str) -> tuple[str, str]:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UserError(f"{where}: not JSON: {error}") from None
    wanted = 'write {"source": "…", "target": "…"}'
    if not isinstance(record, dict):
        raise UserError(f"{where}: a JSON {type(record).__name__} instead of an object; {wanted}")
    for key in ("source", "target"):
        if not isinstance(record.get(key), str):
            present = f"{key} = {record[key]!r}" if key in record else f"keys {', '.join(record) or 'none'}"
            raise UserError(f"{where}: no text under {key!r} ({present}); {wanted}")
        with contextlib.suppress(UnicodeEncodeError):
            record[key].encode("utf-8")
            continue
        raise UserError(f"{where}: {key!r} holds half of a surrogate pair, which is not text; repair it")
    return record["source"], record["target"]


def without_empty(pairs: list[tuple[str, str, str]]) -> Reading:
    """Pairs with an empty side are left out; where every source is empty the targets alone are the data."""
    only_targets = any(target.strip() for _, _, target in pairs) and not any(source.strip() for _, source, _ in pairs)
    examples, skipped = [], []
    for where, source, target in pairs:
        no_source, no_target = not source.strip() and not only_targets, not target.strip()
        if no_source or no_target:
            why = "both sides are empty" if no_source and no_target else f"the {_side(no_source)} is empty"
            skipped.append(Skipped(where, why))
        else:
            examples.append(Example("" if only_targets else source, target))
    return Reading(examples, skipped)


def _side(no_source: bool) -> str:
    return "source" if no_source else "target"


def write_pairs(path: str | Path, examples: list[Example]) -> None:
    """As .tsv or .jsonl, whole or not at all. Texts with tabs or line ends need .jsonl."""
    as_line = _json_line if Path(path).suffix == ".jsonl" else _tsv_line
    write_text(Path(path), "".join(map(as_line, examples)))


def _json_line(example: Example) -> str:
    return json.dumps({"source": example.source, "target": example.target}, ensure_ascii=False) + "\n"


def _tsv_line(example: Example) -> str:
    if not fits_tsv(example):
        raise ValueError(f"a text with a tab or a line end does not fit TSV: {example}")
    return f"{example.source}\t{example.target}\n"


def fits_tsv(example: Example) -> bool:
    return not any(mark in side for side in (example.source, example.target) for mark in "\t\n\r")
