"""Bulk translation in shards: each process translates some chunks of a large file, and the chunks are joined in order.

    out/chunks.json        what all chunks have in common: input, run, search; the same for every process
    out/chunk-000012.txt   the outputs of lines 12·L + 1 to 13·L
    out/chunk-000012.json  its number of lines, and checksums of its input and its output; written last

Process i of n takes the chunks i, i + n, i + 2n … Files are written under another name and renamed, so a chunk with a
.json is whole. Nothing is kept in memory but one chunk, and the processes need nothing of one another but the folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from regard.checkpoint import MODEL
from regard.config import SearchSettings
from regard.data.files import read_lines
from regard.errors import UserError
from regard.files import cannot_write, write_text
from regard.inference import ProgressCallback
from regard.pipeline.interface import CHUNK, Pipeline
from regard.pipeline.output_lines import output_line

CHUNK_LINES = 4 * CHUNK  # a multiple of what a stream decodes together, so that one process gives the same bytes
COMMON = "chunks.json"


@dataclass(frozen=True)
class Shard:
    """Process `index` of `count`, counted from 0."""

    index: int = 0
    count: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.index < self.count:
            last = self.count - 1
            raise UserError(f"--shard {self.index}/{self.count}: of {self.count} shards there are 0 to {last}")

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From `i/n`."""
        index, slash, count = text.partition("/")
        if not (slash and index.isascii() and index.isdigit() and count.isascii() and count.isdigit()):
            raise UserError(f"--shard {text!r}: write i/n, such as 0/4 for the first of four")
        return cls(int(index[:9]), int(count[:9]))

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> Shard:
        """As torchrun or a job array of Slurm number their processes; without either, the only one."""
        if "RANK" in environment and "WORLD_SIZE" in environment:
            return cls.parse(f"{environment['RANK']}/{environment['WORLD_SIZE']}")
        if "SLURM_ARRAY_TASK_ID" in environment:
            first = int(environment.get("SLURM_ARRAY_TASK_MIN", "0"))
            return cls.parse(
                f"{int(environment['SLURM_ARRAY_TASK_ID']) - first}/{environment['SLURM_ARRAY_TASK_COUNT']}"
            )
        return cls()


@dataclass(frozen=True)
class ChunkRecord:
    """What is in a chunk."""

    lines: int
    source: str  # checksums
    output: str


@dataclass(frozen=True)
class ShardReport:
    """What one process did."""

    translated: int  # lines
    kept: int  # lines of chunks that were there
    problems: int  # outputs that are empty because the source was too long
    truncated: int


def translate_shard(
    pipeline: Pipeline,
    source: Path,
    out: Path,
    shard: Shard,
    search: SearchSettings | None = None,
    resume: bool = False,
    progress: ProgressCallback | None = None,
) -> ShardReport:
    """Translate this shard's chunks of `source` into the folder `out`. `resume`: chunks that are whole stay."""
    search = search or pipeline.search
    if search.n_best > 1:
        raise UserError(f"--n-best {search.n_best}: in shards every line has one output; leave it out")
    _begin(pipeline, source, out, search)
    translated = kept = problems = truncated = 0
    for number, texts in chunks(source):
        if number % shard.count != shard.index:
            continue
        record = read_record(out, number)
        if record is not None and not resume:
            raise UserError(
                f"{chunk_file(out, number)} is there already; go on with --resume, or choose another --output"
            )
        digest = checksum(texts)
        if record is not None and record.source == digest and whole(out, number, record):
            kept += record.lines
            if progress is not None:
                progress(sum(1 for text in texts if text.strip()))
            continue
        results = list(pipeline.translate_stream(texts, search, progress))
        lines = [output_line(number, result) for result in results]
        problems += sum(result.problem is not None for result in results)
        truncated += sum(result.truncated for result in results)
        write_text(chunk_file(out, number), "".join(f"{line}\n" for line in lines))
        record = ChunkRecord(len(texts), digest, checksum(lines))
        write_text(record_file(out, number), json.dumps(asdict(record)) + "\n")
        translated += len(texts)
    return ShardReport(translated, kept, problems, truncated)


def merge_chunks(source: Path, out: Path, target: Path) -> int:
    """Join all chunks of `out` into one file, as many lines as `source` has; a chunk that is missing or does not fit
    its input is named. Returns the number of lines."""
    total = 0
    part = target.with_name(f".{target.name}.part")
    try:
        with part.open("wb") as joined:
            for number, texts in chunks(source):
                record = read_record(out, number)
                if record is None:
                    raise UserError(f"{chunk_file(out, number)} is missing; run its shard again with --resume")
                if (record.lines, record.source) != (len(texts), checksum(texts)):
                    raise UserError(
                        f"{record_file(out, number)}: its input was another; run its shard again with --resume"
                    )
                if not whole(out, number, record):
                    raise UserError(f"{chunk_file(out, number)} is damaged; run its shard again with --resume")
                joined.write(chunk_file(out, number).read_bytes())
                total += len(texts)
            joined.flush()
            os.fsync(joined.fileno())
        part.replace(target)
    except OSError as error:
        raise cannot_write(target, error) from None
    finally:
        part.unlink(missing_ok=True)
    return total


def chunks(source: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of a file, so many at a time, with the number of each chunk."""
    lines = read_lines(source)
    number = 0
    while texts := list(islice(lines, CHUNK_LINES)):
        yield number, texts
        number += 1


def chunk_file(out: Path, number: int) -> Path:
    return out / f"chunk-{number:06}.txt"


def record_file(out: Path, number: int) -> Path:
    return out / f"chunk-{number:06}.json"


def read_record(out: Path, number: int) -> ChunkRecord | None:
    """None where the chunk is not whole."""
    try:
        record = ChunkRecord(**json.loads(record_file(out, number).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError):
        raise UserError(
            f"{record_file(out, number)} is damaged; delete it, and run its shard again with --resume"
        ) from None
    return record


def whole(out: Path, number: int, record: ChunkRecord) -> bool:
    """The outputs are there, as many as they were, and as they were."""
    try:
        data = chunk_file(out, number).read_bytes()
    except OSError:
        return False
    return data.count(b"\n") == record.lines and hashlib.blake2b(data, digest_size=16).hexdigest() == record.output


def checksum(lines: list[str]) -> str:
    return hashlib.blake2b("".join(f"{line}\n" for line in lines).encode(), digest_size=16).hexdigest()


def _begin(pipeline: Pipeline, source: Path, out: Path, search: SearchSettings) -> None:
    """Write what the chunks have in common, or refuse a folder of other chunks."""
    weights = hashlib.blake2b((pipeline.run.path / MODEL).read_bytes(), digest_size=16).hexdigest()
    common: dict[str, Any] = {"input": source.name, "bytes": source.stat().st_size if source.exists() else 0}
    common |= {"weights": weights, "search": search.model_dump(), "chunk_lines": CHUNK_LINES}
    file = out / COMMON
    try:
        out.mkdir(parents=True, exist_ok=True)
        stored = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
    except OSError as error:
        raise cannot_write(out, error) from None
    except ValueError:
        raise UserError(f"{file} is damaged; delete it, and go on with --resume") from None
    if stored is None:
        write_text(file, json.dumps(common, indent=2) + "\n")
        return
    for key, value in common.items():
        if stored.get(key) != value:
            raise UserError(
                f"{file}: the chunks there were made with another {key} ({stored.get(key)!r}, now {value!r}); "
                "choose another --output"
            )
