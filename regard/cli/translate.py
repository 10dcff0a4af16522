"""regard translate."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO, cast

from cyclopts import Parameter
from pydantic import Field

from regard.cli.bulk import join_shards, refuse_with_shard, translate_shard_of
from regard.cli.progress import progress_bar
from regard.cli.search import SearchFlags
from regard.config import SearchSettings
from regard.config.values import Engine, LanguageCode, Positive
from regard.errors import UserError
from regard.formats.unit import LanguagePair, UnitChoice

if TYPE_CHECKING:
    from io import BufferedReader

    from regard.pipeline import Pipeline, Result


def translate(
    run: Path,
    /,
    *text: str,
    input: Path | None = None,
    output: Path | None = None,
    search: SearchFlags = SearchSettings(),  # noqa: B008
    alignments: Path | None = None,
    attention: str | None = None,
    ensemble: Annotated[list[Path] | None, Parameter(negative="")] = None,
    engine: Engine = "auto",
    threads: Positive | None = None,
    glossary: Path | None = None,
    confidence: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    shard: str | None = None,
    resume: Annotated[bool, Parameter(negative="")] = False,
    merge: Path | None = None,
    only: UnitChoice = "untranslated",
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None,
    memory: Path | None = None,
    source_language: LanguageCode | None = None,
    target_language: LanguageCode | None = None,
) -> int:
    """Translate texts, lines of a file, or lines of standard input: n lines in are n lines out.

    A translators' file as --input (TMX, XLIFF, PO …) is written to --output with its targets filled in and marked for
    review; all else in it keeps its bytes.

    A language model continues its input; a classifier gives the class and its probability. With --n-best above 1 each
    output has a line of its own: number of the input TAB score TAB output.

    Parameters
    ----------
    run
        A run directory.
    text
        Texts to translate; without them --input or standard input is read.
    input
        A file with one text a line (.gz allowed).
    output
        Where to write instead of standard output.
    alignments
        Also write word alignments: a line a text, 0-0 1-2 (source word, output word), words split at white space.
    attention
        The attention that alignments are taken from; without it the last that attends to the source.
    ensemble
        Another run, trained on the same data with the same tokenizer: the probabilities of both are averaged. For three
        runs: --ensemble B --ensemble C.
    engine
        What decodes: torch runs every model; ctranslate2 (pip install 'regard[fast]') runs Transformers faster, its
        int8 faster still, less exactly; auto takes ctranslate2 for 32 texts or more without beams, where outputs are
        equal.
    threads
        CPU threads.
    glossary
        Terms and what they become (a .tsv file: term TAB translation; or .tbx): each appears in the output.
    confidence
        Before each output the probability that it is right as it is, and a tab (with --json, an entry); the run must
        have been calibrated by `regard calibrate`.
    json
        One JSON object a line, with text, score, tokens and whether the output is finished.
    shard
        i/n: translate part i (from 0) of n of a large --input into chunks in the folder --output; env: as torchrun or
        a job array of Slurm number their processes.
    resume
        With --shard: keep the chunks that are whole.
    merge
        Join the chunks of all shards in --output into this file; without texts to translate.
    only
        In a translators' file: its untranslated units, also the fuzzy ones (that need review), or all.
    threshold
        In a translators' file: leave a target as it is where the new one's score, from 0 to 1, is lower: its
        confidence, where the run is calibrated.
    memory
        A translators' file with pairs: equal sources are taken from it, similar ones are named in a note.
    source_language
        Language of a translators' file's sources (that of the file, or else of the run).
    target_language
        Language of its targets.
    """
    languages = LanguagePair(source_language, target_language)
    of_files = only != "untranslated" or threshold is not None or memory is not None or languages != LanguagePair()
    if merge is not None:
        return join_shards(input, output, merge)
    if shard is not None:
        refuse_with_shard(bool(text or alignments or ensemble or json or glossary or confidence or of_files))
        return translate_shard_of(run, input, output, shard, resume, search, engine, threads)
    from regard.cli.translate_file import refuse_with_file, refuse_without_file, translate_translation_file
    from regard.formats.reading import format_of
    from regard.pipeline import load, output_line
    from regard.pipeline.file_translation import FileOptions

    if resume:
        raise UserError("--resume is of --shard i/n; leave it out, or give both")
    if input is not None and not text and format_of(input) is not None:
        refuse_with_file(bool(alignments or attention or confidence or json or search.n_best > 1), input)
        options = FileOptions(only, languages, threshold, memory)
        pipeline = _with_glossary(load(run, threads, engine=engine, ensemble=ensemble or ()), glossary)
        return translate_translation_file(pipeline, input, output, options, pipeline.search_with(search))
    refuse_without_file(of_files)
    texts = _read_texts(text, input)
    _check_alignments(output, alignments, attention)
    pipeline = _with_glossary(load(run, threads, engine=engine, ensemble=ensemble or ()), glossary)
    search = pipeline.search_with(search)
    if confidence:
        _check_calibrated(pipeline, run, search)
    if alignments is not None:  # refused before anything is translated
        attention = _alignment_attention(pipeline, attention)
    with _opened(output, "--output") as file, _opened(alignments, "--alignments") as alignment_file:
        for number, result in _translated(pipeline, texts, search):
            file.write(f"{output_line(number, result, search.n_best, json, not text, confidence)}\n")
            if alignments is not None:
                alignment_file.write(_alignment_line(result, attention))
    return 0


def _translated(pipeline: Pipeline, texts: list[str], search: SearchSettings) -> Iterator[tuple[int, Result]]:
    with progress_bar("translating", sum(1 for line in texts if line.strip())) as progress:
        yield from _checked(pipeline, pipeline.translate_stream(texts, search, progress))


def _checked(pipeline: Pipeline, results: Iterable[Result]) -> Iterator[tuple[int, Result]]:
    """Each result with its number; what has to be looked at is said on stderr, and at the end what it comes to."""
    from regard.pipeline.output_checks import OutputChecks

    checks = OutputChecks.of(pipeline)
    for number, result in enumerate(results, start=1):
        for problem in checks.add(number, result):
            print(f"regard: {problem}", file=sys.stderr)
        yield number, result
    for line in checks.summary():
        print(f"regard: {line}", file=sys.stderr)


def _check_alignments(output: Path | None, alignments: Path | None, attention: str | None) -> None:
    if output is not None and alignments is not None and output.resolve() == alignments.resolve():
        raise UserError(f"--output and --alignments both name {output}; give each a file of its own")
    if attention is not None and alignments is None:
        raise UserError(f"--attention {attention} says where --alignments come from; give both, or leave it out")


def _alignment_attention(pipeline: Pipeline, attention: str | None) -> str:
    from regard.pipeline import Translator, require

    translator = require(pipeline, Translator, "--alignments: only translations have alignments")
    return translator.alignment_attention(attention)


def _alignment_line(result: Result, attention: str | None) -> str:
    from regard.analysis.alignment import pharaoh

    return pharaoh(result.alignment(attention)) + "\n"


def _with_glossary(pipeline: Pipeline, glossary: Path | None) -> Pipeline:
    from regard.pipeline import Translator, require

    if glossary is None:
        return pipeline
    return require(pipeline, Translator, "--glossary: only translations have terms").with_glossary(glossary)


def _check_calibrated(pipeline: Pipeline, path: Path, search: SearchSettings) -> None:
    """`path`: as the user names the run; a packed one is opened elsewhere."""
    from regard.pipeline import Translator, require

    if require(pipeline, Translator, "--confidence: only translations have one").calibration is None:
        raise UserError(f"--confidence: {path} is not calibrated; run `regard calibrate {path}` first")
    if search.n_best > 1:
        raise UserError("--confidence is of the best output; leave --n-best out")


def _read_texts(arguments: tuple[str, ...], path: Path | None) -> list[str]:
    """The arguments, or the lines of the file or of standard input."""
    from regard.data.files import read_lines, stream_lines

    if arguments and path is not None:
        raise UserError(f"texts and --input {path} are both given; keep one")
    if arguments:
        if not all(text.isascii() or text.encode("utf-8", "ignore").decode() == text for text in arguments):
            raise UserError("a text on the command line is not UTF-8; convert it, or give it with --input")
        return list(arguments)
    if path is not None:
        return list(read_lines(path))
    if sys.stdin.isatty():
        raise UserError("nothing to translate: give texts, --input FILE, or lines on standard input")
    return list(stream_lines(cast("BufferedReader", sys.stdin.buffer), "standard input"))


@contextmanager
def _opened(path: Path | None, option: str) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    try:
        with path.open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); choose another {option}") from None
