"""regard translate."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO, cast

from cyclopts import Parameter

from regard.cli.progress import progress_bar
from regard.config import SearchSettings
from regard.config.settings import Engine, Positive
from regard.errors import UserError

if TYPE_CHECKING:
    from io import BufferedReader

    from regard.pipeline import Pipeline, Result

MANY = 32  # lines for which a second engine is worth its start


def translate(
    run: Path,
    /,
    *text: str,
    input: Path | None = None,
    output: Path | None = None,
    search: Annotated[SearchSettings, Parameter(name="*")] = SearchSettings(),  # noqa: B008
    alignments: Path | None = None,
    attention: str | None = None,
    ensemble: Annotated[list[Path] | None, Parameter(negative="")] = None,
    engine: Engine = "auto",
    threads: Positive | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Translate texts, lines of a file, or lines of standard input: n lines in are n lines out.

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
        Also write which source word each output word came from: a line a text, 0-0 1-2, words split at white space.
    attention
        The attention that alignments are read from; without it the last that attends to the source.
    ensemble
        Another run, trained on the same data with the same tokenizer: the probabilities of both are averaged. For three
        runs: --ensemble B --ensemble C.
    engine
        What decodes: torch runs every model; ctranslate2 (pip install 'regard[fast]') runs Transformers faster, its
        int8 faster still, less exactly; auto takes ctranslate2 for many lines without beams, where outputs are equal.
    threads
        CPU threads.
    json
        One JSON object a line, with text, score, tokens and whether the output is finished.
    """
    from regard.analysis.alignment import pharaoh
    from regard.pipeline import load

    texts = _read_texts(text, input)
    if output is not None and alignments is not None and output.resolve() == alignments.resolve():
        raise UserError(f"--output and --alignments both name {output}; give each a file of its own")
    plain = engine == "auto" and (len(texts) < MANY or not _greedy(run, search))
    model = load(run, threads, engine="torch" if plain else engine, ensemble=ensemble or ())
    chosen = model.search_with(search)
    if alignments is not None:
        attention = _alignment_attention(model, attention)
    unfinished = 0
    with (
        _opened(output, "--output") as file,
        _opened(alignments, "--alignments") as links,
        progress_bar("translating", sum(1 for line in texts if line.strip())) as progress,
    ):
        for number, result in enumerate(model.translate_stream(texts, chosen, progress), start=1):
            file.write(_line(number, result, json, chosen.n_best, bool(text)) + "\n")
            if alignments is not None:
                links.write(pharaoh(result.alignment(attention)) + "\n")
            unfinished += _reported(number, result)
    if unfinished:
        longer = "raise --max-tokens for more"
        print(f"regard: {unfinished} of {len(texts)} outputs reached the length limit; {longer}", file=sys.stderr)
    return 0


def _reported(number: int, result: Result) -> bool:
    """Whether the length limit ended this output; a line without an output is reported."""
    if result.problem:
        print(f"regard: line {number}: {result.problem}; its output is empty", file=sys.stderr)
    return not result.finished and result.problem is None


def _greedy(run: Path, search: SearchSettings) -> bool:
    """Whether one beam over all tokens is asked for, here or by the run: else another engine's outputs may differ."""
    from regard.checkpoint import is_run, read_plan

    if not is_run(run):
        return False
    chosen = read_plan(run).search.model_copy(update=search.model_dump(exclude_unset=True))
    return chosen.beams == chosen.n_best == 1 and not chosen.short_list and not chosen.sample


def _read_texts(typed: tuple[str, ...], path: Path | None) -> list[str]:
    """Those typed, or the lines of the file or of standard input."""
    from regard.data.files import read_lines, stream_lines

    if typed and path is not None:
        raise UserError(f"texts and --input {path} are both given; keep one")
    if typed:
        if not all(text.isascii() or text.encode("utf-8", "ignore").decode() == text for text in typed):
            raise UserError("a text on the command line is not UTF-8; convert it, or give it with --input")
        return list(typed)
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


def _line(number: int, result: Result, as_json: bool, n_best: int, typed: bool) -> str:
    """One line a result; a line break inside an output is written as \\n, unless a person typed the text."""
    if as_json:
        return jsonlib.dumps(result.as_dict(), ensure_ascii=False)
    if result.probabilities:
        shown = list(result.probabilities.items())[:n_best]
        if n_best > 1:
            return "\n".join(f"{number}\t{probability:.4f}\t{name}" for name, probability in shown)
        return "".join(f"{name}\t{probability:.4f}" for name, probability in shown)
    if n_best > 1 and not result.problem and result.alternatives:
        return "\n".join(f"{number}\t{best.score:.4f}\t{_flat(best.text)}" for best in result.alternatives)
    return result.text if typed else _flat(result.text)


def _alignment_attention(model: Pipeline, name: str | None) -> str:
    """Refused before anything is translated: a model that cannot align, or an attention that it lacks."""
    from regard.pipeline import Translator

    if not isinstance(model, Translator):
        raise UserError(f"--alignments: this run is for {model.run.task}; only translations have alignments")
    return model.alignment_attention(name)


def _flat(text: str) -> str:
    return (
        text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r") if "\n" in text or "\r" in text else text
    )
