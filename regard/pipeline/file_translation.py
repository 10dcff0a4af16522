"""Translators' files: targets from a memory and from a model, written into a copy of the file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from regard.config import SearchSettings
from regard.data.examples import Skipped
from regard.data.memory import TranslationMemory
from regard.data.translation_files import read_translation_pairs
from regard.errors import UserError
from regard.files import check_writable, write_bytes
from regard.formats.reading import check_can_be_filled, format_of, languages_of, read_target_file
from regard.formats.tags import tag_problem
from regard.formats.unit import Filling, LanguagePair, LeftOut, Unit, UnitChoice, UnitState, is_variant
from regard.formats.writing import filled
from regard.inference import ProgressCallback
from regard.pipeline.interface import Pipeline
from regard.pipeline.output_checks import doubtful
from regard.pipeline.result import Result

_CHOSEN: dict[UnitChoice, set[UnitState]] = {
    "untranslated": {"untranslated"},
    "fuzzy": {"untranslated", "fuzzy"},
    "all": {"untranslated", "fuzzy", "translated"},
}
SHOWN = 60  # characters of a similar source in a note


@dataclass(frozen=True)
class FileReport:
    """How many units got a target, and which were left as they were, with the reason."""

    by_machine: int
    from_memory: int
    similar: int  # of those by machine: have a similar source in the memory, which their note names
    kept: int  # had a target that was not asked for again
    left: tuple[Skipped, ...]
    checks: tuple[Skipped, ...]  # filled, but a placeholder differs, or a number or a term is missing


@dataclass(frozen=True)
class FileOptions:
    """`only`: which units are translated: those without a target, also those that need review (fuzzy), or all.

    `languages`: of the file; where they are open its own, else those of the run. `threshold`: a target whose score, the
    probability of its tokens (geometric mean), is lower stays as it is. `memory`: a translators' file with pairs; what
    it has exactly is taken from it, and a similar source is noted.
    """

    only: UnitChoice = "untranslated"
    languages: LanguagePair = LanguagePair()  # noqa: RUF009
    threshold: float | None = None
    memory: Path | None = None


def translate_file(
    pipeline: Pipeline,
    path: Path,
    output: Path,
    options: FileOptions = FileOptions(),
    search: SearchSettings | None = None,
    progress: ProgressCallback | None = None,
) -> FileReport:
    """Fill the targets of a file and write it to `output`: the same bytes outside of them, or nothing at all."""
    if format_of(output) != format_of(path):
        raise UserError(f"--output {output}: the input is {path.name}; give a file of the same format")
    check_can_be_filled(path)
    check_writable(output)
    languages = file_languages(pipeline, path, options.languages)
    units = read_target_file(path, output, languages)
    wanted = [
        unit for unit in units if isinstance(unit, Unit) and unit.state in _CHOSEN[options.only] and unit.source.strip()
    ]
    left = [Skipped(unit.place, unit.why) for unit in units if isinstance(unit, LeftOut)]
    if not wanted and not any(isinstance(unit, Unit) for unit in units):
        reason = f" ({left[0].why})" if left else ""
        raise UserError(f"{path}: no unit to translate{reason}; are --source-language and --target-language right?")
    known = _memory(options.memory, languages)
    name = f"regard {version('regard')}"
    fillings = [filling for unit in wanted if (filling := _from_memory(unit, known, f"{name}: {options.memory}"))]
    done = {id(filling.unit) for filling in fillings}
    rest = [unit for unit in wanted if id(unit) not in done]
    machine, refused, checks, similar = _by_machine(
        rest,
        _translations(pipeline, rest, search, progress),
        known,
        options.threshold,
        f"{name}, {pipeline.run.path.name}",
    )
    again = {id(unit) for unit in wanted}
    kept = [
        Filling(replace(unit, native={**unit.native, **unit.target_native}), unit.target, "memory", False, "")
        for unit in units
        if isinstance(unit, Unit) and "text" in unit.spans and unit.target and id(unit) not in again
    ]  # a file of one language gets the targets that the output had
    write_bytes(output, filled(path, [*fillings, *machine, *kept], languages))
    counted = sum(isinstance(unit, Unit) and unit.state in ("translated", "fuzzy") for unit in units)
    reused = counted - sum(unit.state != "untranslated" for unit in wanted)
    return FileReport(len(machine), len(fillings), similar, reused, tuple(left + refused), tuple(checks))


def file_languages(pipeline: Pipeline, path: Path, given: LanguagePair) -> LanguagePair:
    """As given, as the run was trained for, or as the file says; refused where run and file differ."""
    data = pipeline.run.plan.data
    source, target = languages_of(path)
    sides = []
    for side, named, of_run, of_file in (
        ("source", given.source, data.source_language, source),
        ("target", given.target, data.target_language, target),
    ):
        wanted = named or of_run
        if wanted and of_file and not (is_variant(of_file, wanted) or is_variant(wanted, of_file)):
            raise UserError(
                f"{path}: its {side} language is {of_file}, and {pipeline.run.path} translates "
                f"{'from' if side == 'source' else 'to'} {wanted}; choose another run, or --{side}-language {of_file}"
            )
        sides.append(of_file or wanted or None)
    if sides[1] is None and format_of(path) != "po":
        raise UserError(f"{path}: neither it nor the run names the target language; give --target-language fr")
    return LanguagePair(*sides)


def _memory(path: Path | None, languages: LanguagePair) -> TranslationMemory | None:
    if path is None:
        return None
    if format_of(path) is None:
        raise UserError(f"--memory {path}: not a translators' file; give TMX, XLIFF, PO or another of their formats")
    return TranslationMemory(read_translation_pairs(path, languages).examples)


def _from_memory(unit: Unit, memory: TranslationMemory | None, note: str) -> Filling | None:
    """The target of an equal source; where there are several, or tags differ, a human decides."""
    before, text, after = _core(unit.source)
    targets = memory.exact(text) if memory else ()
    fitting = [target for target in targets if tag_problem(target, unit.native) is None]
    if not fitting:
        return None
    review = len(targets) > 1
    said = f"{note}, {len(targets)} translations of this source" if review else f"{note}, exact match"
    return Filling(unit, f"{before}{fitting[0]}{after}", "memory", review, said, 1.0)


def _translations(
    pipeline: Pipeline, units: Sequence[Unit], search: SearchSettings | None, progress: ProgressCallback | None
) -> dict[str, Result]:
    """Each different text once."""
    texts = list(dict.fromkeys(_core(unit.source)[1] for unit in units))
    return dict(zip(texts, pipeline.translate_all(texts, search, progress), strict=True)) if texts else {}


def _by_machine(
    units: Iterable[Unit],
    results: dict[str, Result],
    memory: TranslationMemory | None,
    threshold: float | None,
    name: str,
) -> tuple[list[Filling], list[Skipped], list[Skipped], int]:
    """Fillings; what is left as it is; what has to be checked; how many have a similar source in the memory."""
    fillings, refused, checks, similar = [], [], [], 0
    for unit in units:
        before, text, after = _core(unit.source)
        result = results[text]
        measure, score = (
            ("score", math.exp(result.score)) if (sure := result.confidence) is None else ("confidence", sure)
        )
        problem = result_problem(result, unit, threshold, score)
        if problem is not None:
            refused.append(Skipped(unit.place, problem))
            continue
        note = f"{name}: machine translation, {measure} {score:.2f}"
        doubt = doubtful(result)
        if doubt:
            note += f", check {doubt}"
            checks.append(Skipped(unit.place, doubt))
        matches = memory.lookup(text, limit=1) if memory else []
        if matches:
            similar += 1
            note += (
                f", {matches[0].score}% similar in memory: {_short(matches[0].source)} = {_short(matches[0].target)}"
            )
        fillings.append(Filling(unit, f"{before}{result.text}{after}", "machine", review=True, note=note, score=score))
    return fillings, refused, checks, similar


def result_problem(result: Result, unit: Unit, threshold: float | None, score: float) -> str | None:
    """Why this output is not written; None where it is."""
    if result.problem is not None:
        return result.problem
    if not result.text.strip():
        return "the output is empty"
    if result.truncated:
        return "the output reached the length limit; raise --max-tokens"
    tags = tag_problem(result.text, unit.native)
    if tags is not None:
        return f"inline tags: {tags}"
    return "its score is below --threshold" if threshold is not None and score < threshold else None


def _core(text: str) -> tuple[str, str, str]:
    """The white space before, the text, the white space after."""
    start = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    return text[:start], text[start:end], text[end:]


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return f'"{flat}"' if len(flat) <= SHOWN else f'"{flat[: SHOWN - 1]}…"'
