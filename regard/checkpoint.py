"""A run directory: recipe, tokenizers, weights and training state, each file written whole or not at all.

    recipe.toml               the plan of the run
    run.json                  format version, task, sizes, results
    source.tokenizer.json     and target.tokenizer.json, unless both sides share one
    model.safetensors         the weights that are the model; last.safetensors (and best.safetensors, where weights
                              are averaged) beside it when training has ended
    training.safetensors      everything that --resume needs, in one file so that it is always of one step
    training.previous.safetensors   the one before, which --resume takes where the newest is damaged
    training.validated.safetensors  that of the last validation, with training.on_divergence = "halve"
    lexicon.safetensors       what shortlists are made of, where the vocabulary is large
    data/dev.jsonl, test.jsonl, metrics.jsonl, curve.svg
    seal.json                 checksums, sample outputs and provenance, for `regard verify`

Nothing in it is pickled. Only recipe.toml names places outside: the training files and the run of training.init_from,
which only --resume reads. So a run can be moved, shared and used elsewhere; check those paths before you publish it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, get_args

import torch

from regard.archive import SUFFIX, opened, pack
from regard.config import Plan, parse_plan, recipe_text
from regard.data.codecs import SourceCodec, TargetCodec, load_codecs, same_vocabulary
from regard.data.corpus import Example, Task
from regard.data.embedded.scene import is_scene
from regard.data.lexicon import Lexicon
from regard.errors import UserError
from regard.files import cannot_write, discard, part_of, whole_name, write_bytes, write_text
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.models.seq2seq import Model
from regard.weights import (
    check_finite,
    check_names_and_shapes,
    load_weights,
    need,
    read_tensors,
    write_tensors,
)

FORMAT = 2
RECIPE, FACTS, MODEL, STATE = "recipe.toml", "run.json", "model.safetensors", "training.safetensors"
SOURCE, TARGET = "source.tokenizer.json", "target.tokenizer.json"
PREVIOUS, VALIDATED = "training.previous.safetensors", "training.validated.safetensors"
LEXICON = "lexicon.safetensors"
PICTURES = "pictures"  # in data/
EVALUATION = "evaluation.json"  # the report of `regard evaluate RUN --save`
SEAL = "seal.json"
PACKED = (RECIPE, FACTS, MODEL, SOURCE, TARGET, LEXICON, SEAL, EVALUATION, "metrics.jsonl", "curve.svg")
LOCK = ".lock"  # who trains into the directory


@dataclass(frozen=True)
class Run:
    """What is needed to use a trained model."""

    path: Path
    plan: Plan
    task: Task
    source_codec: SourceCodec
    target_codec: TargetCodec
    model: Model  # in evaluation mode
    facts: dict[str, Any]  # run.json

    def examples(self, split: Literal["dev", "test"]) -> list[Example]:
        """The development or test examples that were stored with the run; names of images lead into it."""
        examples = read_examples(self.path, split)
        if self.source_codec.kind != "images":
            return examples
        return [
            example if is_scene(example.source) else Example(f"{self.path / 'data' / example.source}", example.target)
            for example in examples
        ]

    @cached_property
    def lexicon(self) -> Lexicon | None:
        """Which target tokens are likely for a source token, learned from the training pairs."""
        if not (self.path / LEXICON).is_file():
            return None
        tensors, _ = read_tensors(self.path / LEXICON)
        return Lexicon(**{name: tensor.numpy() for name, tensor in tensors.items()})


# --- the whole run ---------------------------------------------------------------------------------------------------


def load_run(path: Path | str, weights: Literal["model", "last", "best"] = "model") -> Run:
    """A run, ready to use: the model is built from the recipe and holds the named weights."""
    path = opened(Path(path))
    facts = read_facts(path)
    plan = read_plan(path)
    source, target = read_codecs(path, plan)
    shared = same_vocabulary(source, target)
    file = path / f"{weights}.safetensors"
    if not file.is_file() and weights == "model":
        raise UserError(f"{file} is missing: the run has had no validation yet; continue with {resume_line(path)}")
    sizes = source.size, target.size, shared, plan.training.seed
    with torch.device("meta"):  # what the file does not hold is refused before memory is taken for it
        check_names_and_shapes(build_model(plan.model, *sizes), file)
    model = fuse(build_model(plan.model, *sizes))
    load_weights(model, read_tensors(file)[0], str(file))
    check_finite(model, str(file))
    return Run(path, plan, _task(facts, path), source, target, model.eval(), facts)


def _task(facts: dict[str, Any], path: Path) -> Task:
    task = facts["task"]
    if task not in get_args(Task):
        known = ", ".join(get_args(Task))
        raise UserError(f"{path / FACTS}: task = {task!r} is unknown; this regard knows {known}; restore the file")
    return task


def start_run(
    path: Path,
    plan: Plan,
    source: SourceCodec,
    target: TargetCodec,
    examples: dict[str, list[Example]],
    facts: dict[str, Any],
    lexicon: Lexicon | None = None,
) -> None:
    """Write all of a run that is known before training; run.json comes last and makes it a run."""
    try:
        (path / "data").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from None
    write_text(path / RECIPE, recipe_text(plan))
    _save(path / SOURCE, source.save)
    if target is not source:
        _save(path / TARGET, target.save)
    for split, pairs in examples.items():
        lines = (json.dumps({"source": p.source, "target": p.target}, ensure_ascii=False) for p in pairs)
        write_text(path / "data" / f"{split}.jsonl", "".join(f"{line}\n" for line in lines))
    if lexicon is not None:
        arrays = {"likely": lexicon.likely, "frequent": lexicon.frequent}
        write_tensors(path / LEXICON, {name: torch.from_numpy(array) for name, array in arrays.items()})
    write_facts(path, facts)


def pack_run(path: Path, place: Path | None = None) -> Path:
    """The run as one file, beside it unless a place is given. What only --resume needs is left out."""
    read_facts(path)
    place = place or path.resolve().with_name(f"{path.resolve().name}{SUFFIX}")
    if place.suffix != SUFFIX:
        raise UserError(f"--out {place}: give the file a name that ends in {SUFFIX}")
    if place.exists():
        raise UserError(f"{place} exists already; choose another --out, or remove it")
    if not path.is_dir():
        raise UserError(f"{path} is packed already")
    for file in (RECIPE, FACTS, MODEL, SOURCE):
        need(path / file)
    pack(path, _packed_files(path), place)
    return place


def _packed_files(path: Path) -> list[str]:
    own = [*PACKED, *(f"data/{split}.jsonl" for split in ("dev", "test"))]
    pictures = [file for file in (path / "data" / PICTURES).rglob("*") if file.is_file()]
    return [name for name in own if (path / name).is_file()] + [file.relative_to(path).as_posix() for file in pictures]


def resume_line(path: Path) -> str:
    return f"`regard train --out {path} --resume`"


def is_unfinished_start(path: Path) -> bool:
    """Whether `start_run` was stopped there: parts of a run, and no run.json, which it writes last."""
    with _reading(path):
        if not path.is_dir():
            return False
        names = {whole_name(entry.name) for entry in path.iterdir()} - {LOCK}
        data = {whole_name(entry.name) for entry in (path / "data").iterdir()} if (path / "data").is_dir() else set()
    own = {RECIPE, SOURCE, TARGET, LEXICON, FACTS, "data"}
    return bool(names) and names <= own and data <= {"dev.jsonl", "test.jsonl", PICTURES}


# --- its parts -------------------------------------------------------------------------------------------------------


def is_run(path: Path) -> bool:
    with _reading(path / FACTS):
        return (path / FACTS).is_file()


def read_facts(path: Path, needed: Sequence[str] = ("task",)) -> dict[str, Any]:
    """run.json, of this version of the format, with the entries that are needed."""
    path = opened(path)
    file = path / FACTS
    with _reading(file):
        if not path.is_dir():
            raise UserError(f"{path} is not a directory; give the one that `regard train --out` wrote")
        if not file.is_file():
            raise UserError(f"{path} is not a run: it has no {FACTS}; give a directory that `regard train --out` wrote")
        data = file.read_bytes()
    try:
        facts = json.loads(data.decode())
        run_format = facts["format"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise UserError(f"{file} is damaged: it is not a record with a format; restore it or train again") from None
    if run_format != FORMAT:
        raise UserError(
            f"{file}: the run has format {run_format}, but regard {package_version()} reads format {FORMAT}; "
            f"use the regard {facts.get('regard', '')} that wrote it, or train again from its {RECIPE}"
        )
    for key in needed:
        if key not in facts:
            raise UserError(f"{file} is damaged: it has no {key!r}; restore it or train again")
    return facts


def write_facts(path: Path, facts: dict[str, Any]) -> None:
    record = {"format": FORMAT, "regard": package_version(), **facts}
    write_text(path / FACTS, json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def read_plan(path: Path) -> Plan:
    file = opened(path) / RECIPE
    with _reading(file):
        need(file)
        data = file.read_bytes()
    try:
        return parse_plan(data.decode(), where=str(file))
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not TOML: {error}") from None


def write_plan(path: Path, plan: Plan) -> None:
    write_text(path / RECIPE, recipe_text(plan))


def read_codecs(path: Path, plan: Plan, images: Path | None = None) -> tuple[SourceCodec, TargetCodec]:
    """Source and target; one and the same object where they share a vocabulary. Images are read from `images`."""
    path = opened(path)
    return load_codecs(path / SOURCE, path / TARGET, plan, images)


def read_examples(path: Path, split: str) -> list[Example]:
    file = path / "data" / f"{split}.jsonl"
    need(file)
    examples = []
    for number, line in enumerate(file.read_bytes().split(b"\n")[:-1], start=1):
        try:
            pair = json.loads(line.decode())
            if not (isinstance(pair["source"], str) and isinstance(pair["target"], str)):
                raise TypeError
            examples.append(Example(pair["source"], pair["target"]))
        except (ValueError, TypeError, KeyError, RecursionError):
            raise UserError(f"{file}:{number}: this is not a pair; restore the file or train again") from None
    return examples


def _save(path: Path, save: Callable[[Path], None]) -> None:
    """Let `save` write a temporary file, and move its content under the name when it is whole."""
    temporary = part_of(path)
    try:
        save(temporary)
        data = temporary.read_bytes()
        temporary.unlink()
    except OSError as error:
        discard(temporary)
        raise cannot_write(path, error) from None
    write_bytes(path, data)


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """A file that is there and cannot be read is a user's matter too."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror or error}); allow reading it") from None


def package_version() -> str:
    try:
        return version("regard")
    except PackageNotFoundError:
        return "(not installed)"
