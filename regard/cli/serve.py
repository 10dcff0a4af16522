"""regard serve."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from regard.config.values import Engine, Positive
from regard.errors import UserError
from regard.server.settings import ServerSettings

if TYPE_CHECKING:
    from regard.server import RunToServe


def serve(
    *runs: Path,
    host: str = "127.0.0.1",
    port: Annotated[int, Parameter(help="TCP port; 0 takes a free one")] = 8000,
    as_: Annotated[list[str] | None, Parameter(name="--as", negative="")] = None,
    accept_any_pair: Annotated[bool, Parameter(negative="")] = False,
    api_key_file: Path | None = None,
    suggestions: Path | None = None,
    memory: Annotated[bool, Parameter(negative="")] = False,
    engine: Engine = "auto",
    threads: Positive | None = None,
    settings: Annotated[ServerSettings, Parameter(name="*")] = ServerSettings(),  # noqa: B008
) -> int:
    """Serve trained runs over HTTP: the APIs of LibreTranslate, DeepL and Apertium, /v1, and a page to look inside.

    Each request is one line of JSON on standard error, without its text. SIGHUP loads the weights anew; SIGTERM
    finishes what was accepted and stops.

    Parameters
    ----------
    runs
        Run directories. A client chooses by languages, or by the directory's name.
    host
        The address to listen on; 0.0.0.0 for all of this machine.
    as_
        A run with its languages, where the run does not know them: --as en-fr=runs/mine
    accept_any_pair
        Languages that no run is for go to the first translator. Weblate tests every service with English and German.
    api_key_file
        A file with an API key a line; without it everybody may ask.
    suggestions
        A .jsonl file to which /suggest adds pairs for the next training; without it /suggest is off.
    memory
        Serve the training pairs as a translation memory, too (tmserver's API), from where the recipe has them.
    engine
        What decodes, as in `regard translate`.
    threads
        CPU threads.
    """
    from regard.server.process import run_server

    return run_server(
        [*_named(as_ or []), *_plain(runs)],
        settings,
        host=host,
        port=port,
        key_file=api_key_file,
        suggestions=suggestions,
        any_pair=accept_any_pair,
        memory=memory,
        threads=threads,
        engine=engine,
    )


def _plain(runs: tuple[Path, ...]) -> list[RunToServe]:
    from regard.server import RunToServe

    return [RunToServe(run) for run in runs]


def _named(options: list[str]) -> list[RunToServe]:
    """Of en-fr=runs/mine, pt-BR-fr=runs/other."""
    from regard.server import RunToServe
    from regard.server.languages import parse_pair

    named = []
    for option in options:
        languages, equals, path = option.partition("=")
        pair = parse_pair(languages)
        if not equals or not path or pair is None:
            raise UserError(f"--as {option}: write two languages and a run, as --as en-fr=runs/mine")
        named.append(RunToServe(Path(path), pair))
    return named
