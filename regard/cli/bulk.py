"""regard translate --shard and --merge: a large file in chunks, by one process or by many."""

from __future__ import annotations

import sys
from pathlib import Path

from regard.cli.progress import progress_bar
from regard.config import SearchSettings
from regard.config.values import Engine
from regard.errors import UserError


def translate_shard_of(
    run: Path,
    source: Path | None,
    out: Path | None,
    shard: str,
    resume: bool,
    given: SearchSettings,
    engine: Engine,
    threads: int | None,
) -> int:
    """The chunks of one shard. `shard`: i/n, or env for what torchrun or Slurm says."""
    from regard.formats.reading import format_of
    from regard.pipeline import load
    from regard.pipeline.shards import Shard, translate_shard

    source, out = _places(source, out)
    if format_of(source) is not None:  # its markup is no text to translate
        raise UserError(f"{source}: --shard takes plain lines; fill a translators' file without it")
    part = Shard.of_environment() if shard == "env" else Shard.parse(shard)
    pipeline = load(run, threads, engine=engine)
    with progress_bar("translating", None) as progress:
        report = translate_shard(pipeline, source, out, part, pipeline.search_with(given), resume, progress)
    kept = f", {report.kept:,} were there" if report.kept else ""
    print(f"shard {part.index}/{part.count}: {report.translated:,} lines translated{kept}", file=sys.stderr)
    if report.problems:
        print(f"regard: {report.problems:,} lines are too long for the model; their outputs are empty", file=sys.stderr)
    if report.truncated:
        print(f"regard: {report.truncated:,} outputs reached the length limit; raise --max-tokens", file=sys.stderr)
    return 0


def refuse_with_shard(given: bool) -> None:
    """`given`: something that a shard cannot write or read."""
    if given:
        raise UserError("--shard translates --input into chunks of plain lines; leave texts and other outputs out")


def join_shards(source: Path | None, out: Path | None, target: Path) -> int:
    """The chunks of all shards as one file."""
    from regard.files import check_writable
    from regard.pipeline.shards import merge_chunks

    source, out = _places(source, out)
    check_writable(target)
    print(f"wrote {target}: {merge_chunks(source, out, target):,} lines", file=sys.stderr)
    return 0


def _places(source: Path | None, out: Path | None) -> tuple[Path, Path]:
    if source is None or out is None:
        raise UserError("--shard and --merge need --input FILE and --output FOLDER, the same for all shards")
    if out.exists() and not out.is_dir():
        raise UserError(f"--output {out} is a file; with --shard and --merge it is the folder of the chunks")
    return source, out
