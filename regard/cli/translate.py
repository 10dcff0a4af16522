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
from regard.config import SearchConfig
from regard.config.settings import Engine, Positive
from regard.errors import UserError

if TYPE_CHECKING:
    from io import BufferedReader

    from regard.pipeline import Pipeline, Result

MANY = 32  # lines for which a second engine is worth its start
CHUNK = 1024  # lines translated before they are written: an interrupted run keeps what it wrote


def translate(
    run: Path,
    /,
    *text: str,
    input: Path | None = None,
    output: Path | None = None,
    search: Annotated[SearchConfig, Parameter(name="*")] = SearchConfig(),  # noqa: B008
    alignments: Path | None = None,
    attention: str | None = None,
    ensemble: Annotated[list[Path] | None, Parameter(negative="")] = None,
    engine: Engine = "auto",
    threads: Positive | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Translate texts, lines of a file, or lines of standard input: n lines in are n lines out.

    A language model continues its input, a classifier names the class and its probability. With --n-best above 1 each
    output is a line of its own: number of the input TAB score TAB output.

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
        Also write which source word each output word came from: a line a text, 0-0 1-2, words parted by white space.
    attention
        The attention that alignments are read from; without it the last that looks at the source.
    ensemble
        Another run, trained on the same data with the same tokenizer: both write each token together. Once for each:
        --ensemble B --ensemble C.
    engine
        What decodes: torch serves every model; ctranslate2 (pip install 'regard[fast]') serves Transformers faster, its
        int8 faster still, less exactly; auto takes ctranslate2 for many lines without beams, where outputs are equal.
    threads
        CPU threads.
    json
        One JSON object a line, with text, score, tokens and whether the output is finished.
    """
    from regard.pipeline import load

    texts = _texts(text, input)
    if output is not None and alignments is not None and output.resolve() == alignments.resolve():
        raise UserError(f"--output and --alignments both name {output}; give each a file of its own")
    plain = engine == "auto" and (len(texts) < MANY or not _greedy(run, search))
    model = load(run, threads, engine="torch" if plain else engine, ensemble=ensemble or ())
    asked = chosen_search(model, search)
    if alignments is not None:
        _check_alignments(model, attention)
    unfinished = _write(model, texts, asked, (output, alignments), attention, json, bool(text))
    if unfinished:
        longer = "raise --max-tokens for more"
        print(f"regard: {unfinished} of {len(texts)} outputs reached the length limit; {longer}", file=sys.stderr)
    return 0


def _write(
    model: Pipeline,
    texts: list[str],
    asked: SearchConfig,
    places: tuple[Path | None, Path | None],
    attention: str | None,
    json: bool,
    spoken: bool,
) -> int:
    """Translate and write, chunk by chunk: outputs, and alignments where they have a place. How many did not end."""
    unfinished, (output, alignments) = 0, places
    shown = sum(1 for line in texts if line.strip())
    with (
        _opened(output, "--output") as file,
        _opened(alignments, "--alignments") as links,
        progress_bar("translating", shown) as progress,
    ):
        for first in range(0, len(texts), CHUNK):
            results = model.translate_all(texts[first : first + CHUNK], asked, progress)
            for number, result in enumerate(results, start=first + 1):
                file.write(_line(number, result, json, asked.n_best, spoken) + "\n")
                if alignments is not None:
                    links.write(_links(result, attention) + "\n")
                unfinished += not result.finished and result.problem is None
                if result.problem:
                    print(f"regard: line {number}: {result.problem}; its output is empty", file=sys.stderr)
            file.flush()
    return unfinished


def _greedy(run: Path, search: SearchConfig) -> bool:
    """Whether one beam over all tokens is asked for, here or by the run: else another engine's outputs may differ."""
    from regard.checkpoint import is_run, read_config

    if not is_run(run):
        return False
    chosen = read_config(run).search.model_copy(update=search.model_dump(exclude_unset=True))
    return chosen.beams == chosen.n_best == 1 and not chosen.short_list and not chosen.sample


def chosen_search(model: Pipeline, given: SearchConfig) -> SearchConfig:
    """The run's own search with what was asked for on top; n best outputs need n beams."""
    fields = given.model_dump(exclude_unset=True)
    if not fields.get("sample", model.search.sample):
        fields["beams"] = fields.get("beams") or max(model.search.beams, fields.get("n_best", 1))
    return model.search_with(**fields)


def _texts(spoken: tuple[str, ...], path: Path | None) -> list[str]:
    """Those typed, or the lines of the file or of standard input."""
    from regard.data.files import read_lines, stream_lines

    if spoken and path is not None:
        raise UserError(f"texts and --input {path} are both given; keep one")
    if spoken:
        if not all(text.isascii() or text.encode("utf-8", "ignore").decode() == text for text in spoken):
            raise UserError("a text on the command line is not UTF-8; convert it, or give it with --input")
        return list(spoken)
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


def _line(number: int, result: Result, as_json: bool, n_best: int, spoken: bool) -> str:
    """One line a result; a line break inside an output is written as \\n, unless a person typed the text."""
    if as_json:
        return jsonlib.dumps(result.as_dict(), ensure_ascii=False)
    if result.probabilities:
        shown = list(result.probabilities.items())[:n_best]
        if n_best > 1:
            return "\n".join(f"{number}\t{probability:.4f}\t{name}" for name, probability in shown)
        return "".join(f"{name}\t{probability:.4f}" for name, probability in shown)
    if n_best > 1 and not result.problem and result.alternatives:
        rows = (f"{number}\t{each.score:.4f}\t{_flat(each.text)}" for each in result.alternatives)
        return "\n".join(rows)
    return result.text if spoken else _flat(result.text)


def _check_alignments(model: Pipeline, attention: str | None) -> None:
    """Refused before anything is translated: a model that cannot align, or an attention that it lacks."""
    from regard.analysis.ablation import attention_heads
    from regard.analysis.trace import looking_at_source

    if model.run.task != "translation":
        raise UserError(f"--alignments: this run is for {model.run.task}; only translations have alignments")
    known = looking_at_source(attention_heads(model.run.model), hasattr(model.run.model, "encoder"))
    if not known:
        raise UserError(
            f"--alignments: {model.run.path} has no attention that looks at the source; there is nothing to align by"
        )
    if attention is not None and attention not in known:
        raise UserError(
            f"--attention {attention}: none that looks at the source is called so; there are {', '.join(known)}"
        )


def _links(result: Result, attention: str | None) -> str:
    from regard.analysis.alignment import align, pharaoh

    if not result.tokens:
        return ""
    seen = result.trace()
    return pharaoh(align(seen.source_map(attention or seen.source_attentions[-1])))


def _flat(text: str) -> str:
    return (
        text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r") if "\n" in text or "\r" in text else text
    )
