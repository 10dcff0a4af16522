"""The command line: one file per verb, no logic that the library lacks. Importing it loads no torch."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from io import TextIOWrapper

from cyclopts import App, CycloptsError

from regard.cli.help import EPILOGUE, HELP_ALL, CommonHelp, every_setting
from regard.errors import UserError

app = App(
    name="regard",
    help="Train a sequence-to-sequence model, look inside it and ship it.",
    help_format="plaintext",
    version=lambda: version("regard"),
    suppress_keyboard_interrupt=False,  # main says what happened
)
app.command("regard.cli.demo:demo", name="demo", help="Train the embedded default and show what it does.")
app.command(
    "regard.cli.train:train",
    name="train",
    help="Train a model from a recipe or from files of your own.",
    help_formatter=CommonHelp(),
    help_epilogue=EPILOGUE,
)
app.command("regard.cli.translate:translate", name="translate", help="Translate, continue, classify or caption.")
app.command("regard.cli.serve:serve", name="serve", help="Serve runs over HTTP, and a page to look inside.")
app.command("regard.cli.evaluate:evaluate", name="evaluate", help="Measure a model on its test set or on your files.")
app.command(
    "regard.cli.calibrate:calibrate", name="calibrate", help="Fit how sure a translator is, and show how well it knows."
)
app.command("regard.cli.look:app", name="look", help="Draw what the model attends to.")
app.command("regard.cli.probe:app", name="probe", help="Predict positions or tags from hidden states; ablate heads.")
app.command(
    "regard.cli.lesson:lesson", name="lesson", help="Test a claim of the lectures: experiment, numbers, verdict."
)
app.command(
    "regard.cli.compare:compare",
    name="compare",
    help="Train several architectures alike and report.",
    help_formatter=CommonHelp(),
    help_epilogue=EPILOGUE,
)
app.command("regard.cli.describe:describe", name="describe", help="Print the modules of a preset, a recipe or a run.")
app.command("regard.cli.import_model:import_model", name="import", help="Make a run of another program's model.")
app.command("regard.cli.export:export", name="export", help="Write a run for another program.")
app.command("regard.cli.pack:pack", name="pack", help="Put a run into one file.")
app.command("regard.cli.verify:verify", name="verify", help="Check that a run is as it was written.")
data = App(name="data", help="List, fetch, inspect and clean corpora.")
data.command("regard.cli.data:list_corpora", name="list", help="The corpora that need no download.")
data.command("regard.cli.data:fetch", name="fetch", help="Make a real corpus from public packages.")
data.command("regard.cli.data:inspect", name="inspect", help="Count, measure and show a corpus.")
data.command("regard.cli.data:clean", name="clean", help="Leave out pairs that something is wrong with.")
app.command(data)


def main(tokens: list[str] | None = None) -> int:
    """Run a command. Exit status: 0 after success, 2 for bad input (one line says why), 130 after Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # whatever the locale says
    words = sys.argv[1:] if tokens is None else tokens
    try:
        if HELP_ALL in words and words[0] in ("train", "compare"):
            with every_setting(app[words[0]]):
                app.help_print(words[:1])
            return 0
        status = app(
            _joined(words),
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
        return status if isinstance(status, int) else 0
    except UserError as error:
        return _refuse(str(error))
    except CycloptsError as error:
        from regard.config.load import first_problem  # imported late: pydantic would double the time of --help

        argument = getattr(error, "argument", None)
        where = argument.name if argument is not None and argument.name != "*" else "command line"
        return _refuse(first_problem(error.__cause__, where) or " ".join(str(error).split()))
    except KeyboardInterrupt:
        print("regard: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _refuse(f"{error.filename or 'standard output'}: {error.strerror or error}")


def _joined(tokens: list[str]) -> list[str]:
    """`--model.tied-embeddings true` → `--model.tied-embeddings=true`; else the value would be taken for the recipe."""
    joined: list[str] = []
    for token in tokens:
        before = joined[-1] if joined and "--" not in joined else ""  # all is text after a lone --
        setting = before.startswith("--") and "." in before and "=" not in before
        if setting and token.lower() in ("true", "false"):
            joined[-1] += f"={token}"
        else:
            joined.append(token)
    return joined


def _refuse(message: str) -> int:
    print(f"regard: {message}", file=sys.stderr)
    return 2
