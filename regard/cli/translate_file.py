"""regard translate RUN --input app.po --output app.fr.po"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.progress import progress_bar
from regard.config import SearchSettings
from regard.errors import UserError

if TYPE_CHECKING:
    from regard.data.examples import Skipped
    from regard.pipeline.file_translation import FileOptions
    from regard.pipeline.interface import Pipeline


def translate_translation_file(
    pipeline: Pipeline, path: Path, output: Path | None, options: FileOptions, search: SearchSettings
) -> int:
    """Fill a file and say what was done; what needs a look goes to stderr, by file and line."""
    from regard.data.inspect import reasons
    from regard.pipeline.file_translation import translate_file

    if output is None:
        raise UserError(f"{path}: give --output, the file to write")
    with progress_bar("translating", None) as progress:
        report = translate_file(pipeline, path, output, options, search, progress)
    print(f"{output}: {report.by_machine:,} translated, {report.from_memory:,} from the memory, {report.kept:,} kept")
    if report.similar:
        print(f"  {report.similar:,} of the translated have a similar source in the memory: see their notes")
    for reason in reasons(report.left):
        more = ", …" if reason.count > len(reason.first) else ""
        print(f"  left as it is: {reason.count:,} × {reason.why} ({', '.join(reason.first)}{more})")
    for check in report.checks:
        _warn(check)
    return 0


def refuse_with_file(given: bool, path: Path) -> None:
    """`given`: an output that a translators' file has no place for."""
    if given:
        raise UserError(
            f"{path}: a translators' file is filled with one output a unit; leave --alignments, --attention, "
            "--confidence, --json and --n-best out"
        )


def refuse_without_file(given: bool) -> None:
    """`given`: an option that would do nothing for plain lines."""
    if given:
        raise UserError(
            "--only, --threshold, --memory, --source-language and --target-language are of translators' files; "
            "leave them out, or give --input FILE (.tmx, .xliff, .po …)"
        )


def _warn(check: Skipped) -> None:
    print(f"regard: {check.where}: check this translation: {check.why}", file=sys.stderr)
