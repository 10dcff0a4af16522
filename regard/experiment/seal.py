"""The seal of a run: checksums of its files, outputs of a few examples, and where it comes from; and verifying it.

A checksum says that a file is as it was written. Sample outputs say that it means the same: weights of another model,
transposed ones, or a changed tokenizer would otherwise translate without a word.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from regard.archive import opened
from regard.checkpoint import LEXICON, MODEL, PACKED, RECIPE, SEAL, SOURCE, TARGET, package_version, read_facts
from regard.config import Plan
from regard.data.embedded.scene import is_scene
from regard.errors import UserError
from regard.files import write_text
from regard.pipeline import Pipeline, Result, load

SEALED = (RECIPE, SOURCE, TARGET, MODEL, "last.safetensors", "best.safetensors", LEXICON)
SAMPLES, SAMPLE_TOKENS = 4, 40  # outputs that are stored, and their length at most
TOLERANCE = 1e-3  # of a log-probability, on another processor or with another torch
DATA_FILES = ("source", "target", "pairs", "dev_source", "dev_target", "dev_pairs", "test_source", "test_target")


@dataclass(frozen=True)
class Sample:
    """What the model gave for an example when the run was sealed."""

    source: str
    output: str
    log_prob: float


@dataclass(frozen=True)
class Check:
    """One thing that was verified."""

    what: str
    problem: str | None  # None: it holds

    def __str__(self) -> str:
        return f"ok      {self.what}" if self.problem is None else f"FAILED  {self.what}: {self.problem}"


def seal_run(path: Path) -> None:
    """Write the seal of a run that is whole."""
    pipeline = load(path, engine="torch")
    record = {
        "files": {name: file_digest(path / name) for name in SEALED if (path / name).is_file()},
        "samples": [asdict(sample) for sample in _samples(pipeline)],
        "provenance": _provenance(pipeline.run.plan),
    }
    write_text(path / SEAL, json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def verify_run(path: Path | str) -> Iterator[Check]:
    """Each check as it is made: the format, the files, that they fit, and the sample outputs."""
    packed, path = Path(path).is_file(), opened(Path(path))
    facts = read_facts(path)
    yield Check(f"format {facts['format']}, written by regard {facts.get('regard', '(unknown)')}", None)
    record = read_seal(path)
    for name, digest in record["files"].items():
        file = path / str(name)
        if packed and name not in PACKED:  # weights beside the model stay in the directory
            continue
        if Path(str(name)).name != name or not file.is_file():
            yield Check(str(name), "it is missing")
        else:
            yield Check(str(name), None if file_digest(file) == digest else "its checksum is another")
    try:
        pipeline = load(path, engine="torch")
    except UserError as error:
        yield Check("recipe, tokenizers and weights fit", str(error))
        return
    yield Check("recipe, tokenizers and weights fit", None)
    yield from _check_samples(pipeline, [Sample(**sample) for sample in record["samples"]])


def read_seal(path: Path) -> dict[str, Any]:
    file = path / SEAL
    try:
        record = json.loads(file.read_bytes())
        if not all(isinstance(record[key], kind) for key, kind in _KINDS.items()):
            raise TypeError
        for sample in record["samples"]:
            Sample(**sample)
    except FileNotFoundError:
        raise UserError(
            f"{path} has no {SEAL}, which training writes at its end; resume the run, or use it unverified"
        ) from None
    except (ValueError, TypeError, KeyError, RecursionError, OSError):
        raise UserError(f"{file} is damaged; restore it or train again") from None
    return record


_KINDS = {"files": dict, "samples": list, "provenance": dict}


def provenance_lines(path: Path | str) -> list[str]:
    """Where a run comes from, a line each."""
    known = read_seal(opened(Path(path)))["provenance"]
    lines = []
    for key, value in known.items():
        shown = "; ".join(f"{name} ({digest})" for name, digest in value.items()) if isinstance(value, dict) else value
        if shown:
            lines.append(f"{str(key).replace('_', ' ')}: {shown}")
    return lines


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _samples(pipeline: Pipeline) -> list[Sample]:
    sources = [example.source or example.target[:20] for example in pipeline.examples("dev")[:SAMPLES]]
    # names of images lead into the run, which may be moved
    inside = [source.removeprefix(f"{pipeline.run.path / 'data'}{os.sep}") for source in sources]
    results = _outputs(pipeline, inside)
    return [
        Sample(source, result.text, round(result.log_prob, 6)) for source, result in zip(inside, results, strict=True)
    ]


def _outputs(pipeline: Pipeline, sources: list[str]) -> list[Result]:
    if pipeline.run.source_codec.kind == "images":
        own = pipeline.run.path / "data"
        sources = [source if is_scene(source) else str(own / source) for source in sources]
    return pipeline.translate_all(sources, pipeline.search_with(beams=1, n_best=1, max_tokens=SAMPLE_TOKENS))


def _check_samples(pipeline: Pipeline, samples: list[Sample]) -> Iterator[Check]:
    results = _outputs(pipeline, [sample.source for sample in samples])
    for number, (sample, result) in enumerate(zip(samples, results, strict=True), start=1):
        what = f"sample output {number}"
        if result.text != sample.output:
            yield Check(what, f"{result.text!r}, and it was {sample.output!r}")
        elif abs(result.log_prob - sample.log_prob) > TOLERANCE * max(1.0, abs(sample.log_prob)):
            yield Check(what, f"its log-probability is {result.log_prob:.4f}, and it was {sample.log_prob:.4f}")
        else:
            yield Check(what, None)


def _provenance(plan: Plan) -> dict[str, Any]:
    files = [getattr(plan.data, key) for key in DATA_FILES]
    data = {name: file_digest(Path(name)) for name in files if name is not None and Path(name).is_file()}
    return {
        "sealed": datetime.now(UTC).isoformat(" ", "seconds"),
        "corpus": plan.data.corpus or "",
        "data": data,
        "began_with": plan.training.init_from or "",
        "regard": package_version(),
        "commit": _commit(),
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def _commit() -> str:
    """Of the clone that this regard is run from; nothing where it was installed from a wheel."""
    folder = Path(__file__).parents[2]
    if not (folder / ".git").exists():
        return ""
    command = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
