"""Every console, sh and Python block of docs/ and README.md is executed, in order, in one folder a page.

Trainings are cut as conftest.py says. Outputs that depend on trained weights are compared by the slow test only;
all others, error messages above all, are compared here. `...` in an output stands for anything.
"""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from docs_pages import PAGES, ROOT, Block, Command, blocks, commands

from regard.cli import main
from regard.config import DataSettings, settle
from regard.data import load_corpus, write_pairs
from regard.experiment import resolve

NOT_EXECUTED = {
    "make": "sets up .venv, and runs these very tests",
    "git clone": "needs a network",
    "cd": "there is one folder a page",
    "pip install": "changes the environment of the tests",
    "python -m pip install": "changes the environment of the tests",
    "python3 -m venv": "changes the environment of the tests",
    "source .venv/bin/activate": "the environment is that of the tests",
}
NEEDS_A_NETWORK = "regard data fetch"  # a small folder of the same shape stands in for what it makes
DEPENDS_ON_WEIGHTS = {"train", "translate", "evaluate", "calibrate", "look", "demo"}
ADDRESS = "127.0.0.1:8000"  # of the server that a page starts
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
TRAINED_PAGES = ("docs/index.md", "docs/tutorial.md", "docs/python.md", "docs/serving.md")
READERS_FILES = ("YOUR.tsv", "pairs.tsv", "train.en", "train.fr")  # what README may say "your files" with


class Reader:
    """Works through a page as a reader would."""

    def __init__(self, name: str, capsys: pytest.CaptureFixture[str], trained: bool) -> None:
        self.name = name
        self.capsys = capsys
        self.trained = trained
        self.names: dict[str, object] = {}
        self.server: subprocess.Popen[str] | None = None
        self.address = ADDRESS  # of the server, on a free port instead of the page's

    def work_through(self, block: Block) -> None:
        match block.language:
            case "console" | "sh":
                for command in commands(block):
                    self._command(command)
            case "python":
                self._python(block)
            case "toml":
                settle_recipe(block.text)
            case language:
                assert language in ("text", "svg", "mermaid"), f"{self.name}:{block.line}: {language!r} is not executed"

    def _command(self, command: Command) -> None:
        where = f"{self.name}:{command.line}: {command.text}"
        if any(command.text == known or command.text.startswith(f"{known} ") for known in NOT_EXECUTED):
            return
        text = command.text.replace(ADDRESS, self.address)
        words = shlex.split(text, comments=True)
        if not words:  # a comment
            return
        if words[:2] == ["regard", "serve"]:
            self._serve(words[2:], command.output)
            return
        if words[0] == "curl" and shutil.which("curl") is None:
            return
        if command.text.startswith(NEEDS_A_NETWORK):
            stand_in(words)
            return
        refusal = command.output.startswith("regard: ")
        if words[0] == "regard" and not needs_a_shell(text):
            code = main(words[1:])
            out, err = self.capsys.readouterr()
        else:
            done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=120, check=False)
            code, out, err = done.returncode, done.stdout.replace(self.address, ADDRESS), done.stderr
        assert code == (2 if refusal else 0), f"{where}\nexit {code}\n{out}{err}"
        depends = (words[0] == "regard" and words[1] in DEPENDS_ON_WEIGHTS) or "regard" in words[1:]
        depends = depends or (words[0] == "curl" and ("translatedText" in command.output or "/v1/" in text))
        if command.output and (refusal or self.trained or not depends):
            compare(where, command.output, err if refusal else out)

    def _serve(self, words: list[str], said: str) -> None:
        """In a process of its own, until the page ends or serves anew; it says what the page says, but for the time."""
        self.close()
        command = [sys.executable, "-m", "regard", "serve", *words, "--port", "0", "--threads", "1"]
        self.server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.server.stderr is not None
        for line in self.server.stderr:
            if started := re.match(r"serving on http://(\S+)/", line):
                self.address = started[1]
                return
            assert line in f"{said}\n", f"{self.name}: regard serve said {line}"
        pytest.fail(f"{self.name}: regard serve {words} does not start", pytrace=False)

    def close(self) -> None:
        if self.server is not None:
            self.server.kill()
            self.server.communicate()

    def _python(self, block: Block) -> None:
        block = replace(block, text=block.text.replace(ADDRESS, self.address))
        code = "\n" * (block.line - 1) + block.text
        if ">>>" not in block.text:
            exec(compile(code, self.name, "exec"), self.names)
            return
        test = doctest.DocTestParser().get_doctest(block.text, self.names, self.name, self.name, block.line - 1)
        runner = doctest.DocTestRunner(Checker(self.trained), optionflags=FLAGS, verbose=False)
        messages: list[str] = []
        runner.run(test, out=messages.append, clear_globs=False)
        self.names = test.globs
        assert not runner.failures, "".join(messages)


class Checker(doctest.OutputChecker):
    """Without trained weights an example need only run; an exception is expected where the page shows one, else not."""

    def __init__(self, trained: bool) -> None:
        self.trained = trained

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        error = "Traceback" in want or re.match(r"[\w.]+Error: ", want)
        return not (self.trained or error) or super().check_output(want, got, optionflags)


def needs_a_shell(text: str) -> bool:
    """Whether a pipe or a redirection stands outside of quotes."""
    return any(set(word) <= set("|<>&;()") for word in shlex.shlex(text, punctuation_chars=True))


def compare(where: str, want: str, got: str) -> None:
    assert doctest.OutputChecker().check_output(f"{want}\n", got, FLAGS), f"{where}\npage: {want}\ngot:  {got}"


def settle_recipe(text: str) -> None:
    """A recipe on a page is a whole one."""
    import tomllib

    config = settle(tomllib.loads(text), where="recipe")
    resolve(config, load_corpus(config.data.model_copy(update={"examples": 50})))


def stand_in(words: list[str]) -> None:
    """In place of `regard data fetch NAME --pair PAIR`: the folder that it makes, with dates in it."""
    pair = words[words.index("--pair") + 1] if "--pair" in words else "en-fr"
    made = f"data/{words[3]}" if words[3] == "cmudict" else f"data/{words[3]}-{pair}"
    given = words[words.index("--out") + 1] if "--out" in words else made
    folder = Path(given)
    folder.mkdir(parents=True)
    corpus = load_corpus(DataSettings(corpus="dates", examples=200, dev_examples=10, test_examples=10))
    for split, rows in corpus.splits().items():
        write_pairs(folder / f"{split}.tsv", rows)


def bring_files(folder: Path) -> None:
    corpus = load_corpus(DataSettings(corpus="dates", examples=200, dev_examples=10, test_examples=10))
    for name in READERS_FILES:
        side = {"en": "source", "fr": "target"}.get(name.rpartition(".")[2])
        if side is None:
            write_pairs(folder / name, corpus.train)
        else:
            text = "".join(f"{getattr(example, side)}\n" for example in corpus.train)
            (folder / name).write_text(text, encoding="utf-8")


def bring_an_opus_model(folder: Path) -> None:
    """In place of a download: a tiny model of random weights with the same files."""
    sys.path.insert(0, str(ROOT / "tests" / "interop"))
    from opus_fixture import texts, write_opus_mt

    write_opus_mt(folder / "opus-mt-en-fr")
    for name, seed in (("memory.tsv", 1), ("general.tsv", 5)):
        pairs = zip(texts(60, seed), texts(60, seed + 1), strict=True)
        (folder / name).write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_runs(page: Path, desk: Path, dates_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(dates_run, desk / "runs" / "dates")
    if page.name == "README.md":
        bring_files(desk)
    if page.name == "import.md":
        bring_an_opus_model(desk)
    with closing(Reader(page.name, capsys, trained=False)) as reader:
        for block in blocks(page.read_text(encoding="utf-8")):
            reader.work_through(block)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED_PAGES)
def test_outputs_of_the_trained_model(
    name: str, desk: Path, trained_dates_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(trained_dates_run, desk / "runs" / "dates")
    page = ROOT / name
    with closing(Reader(name, capsys, trained=True)) as reader:
        for block in blocks(page.read_text(encoding="utf-8")):
            reader.work_through(block)


def test_a_wrong_page_is_noticed(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reader = Reader("page", capsys, trained=False)
    for language, text in (
        ("console", "$ regard describe no-such-thing\n"),
        ("sh", "# fails:\n.venv/bin/regard describe \\\n  no-such-thing\n"),
        ("console", "$ regard describe rnn-fixed\nanother output\n"),
        ("console", "$ regard describe no-such-thing\nregard: another message\n"),
        ("python", "raise ValueError\n"),
        ("python", ">>> 1 / 0\n0\n"),
        ("python", ">>> 1 / 1\nTraceback (most recent call last):\n...\nValueError: no\n"),
        ("python", ">>> 1 / 0\nTraceback (most recent call last):\n...\nZeroDivisionError: another\n"),
        ("toml", "[data]\nno_such_key = 1\n"),
        ("fortran", "END\n"),
    ):
        with pytest.raises(Exception):  # noqa: B017
            reader.work_through(Block(language, text, 1))
            pytest.fail(f"not noticed: {text}", pytrace=False)
