"""Help of the verbs that take every setting: --help prints those that people need, --help-all every one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any

from cyclopts import App

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from cyclopts.help.formatters import DefaultFormatter
    from rich.console import Console, ConsoleOptions

HELP_ALL = "--help-all"
EPILOGUE = f"{HELP_ALL} prints every setting."
COMMON_KEYS = {
    "data": ("corpus", "pairs", "source", "target", "dev-pairs", "test-pairs"),
    "tokenizer": ("kind", "size"),
    "model": ("preset", "width", "depth", "heads", "dropout"),
    "training": ("steps", "epochs", "minutes", "batch-tokens", "rate", "init-from", "seed", "threads"),
}
COMMON = frozenset(f"--{section}.{key}" for section, keys in COMMON_KEYS.items() for key in keys)
"""Settings that --help prints."""


class CommonHelp:
    """A formatter of --help that leaves out the settings that few people need."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        shown = copy(panel)
        shown.entries = [entry for entry in panel.entries if _is_common(entry.positive_names)]
        _default()(console, options, shown)

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:
        _default().render_usage(console, options, usage)

    def render_description(self, console: Console, options: ConsoleOptions, description: Any) -> None:
        _default().render_description(console, options, description)


def _is_common(flags: tuple[str, ...]) -> bool:
    return not any("." in flag for flag in flags) or bool(COMMON.intersection(flags))


def _default() -> DefaultFormatter:
    from cyclopts.help.formatters import DefaultFormatter  # here, for it loads rich

    return DefaultFormatter()


@contextmanager
def every_setting(app: App) -> Iterator[None]:
    """The help of this verb with all settings, for a while."""
    formatter, epilogue = app.help_formatter, app.help_epilogue
    app.help_formatter, app.help_epilogue = _default(), None
    try:
        yield
    finally:
        app.help_formatter, app.help_epilogue = formatter, epilogue
