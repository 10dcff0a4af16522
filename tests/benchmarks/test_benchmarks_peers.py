"""A peer that cannot take part, or not any more, is named with the reason, and the others go on."""

from __future__ import annotations

import sys
from pathlib import Path

import decoding
import numpy
import peers
import pytest
import torch
from _environments import Environment, LeftOutError, interpreter, leave_out
from _worker_process import WorkerProcess

ECHO = """
import sys
print("chatter", "ready", sep=chr(10), flush=True)
for line in sys.stdin:
    print("heard", line, end="", flush=True)
"""
SHORT = "print('ready', flush=True); print(*input().split(), flush=True); input(); raise SystemExit(3)"


def _python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def test_a_conversation_goes_on_line_by_line() -> None:
    with WorkerProcess(_python(ECHO)) as peer:
        assert peer.ask("one") == "heard one"
        assert peer.ask("two") == "heard two"


def test_threads_of_peers_wait_as_they_do_for_their_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMP_SPINCOUNT", "1000")
    code = "import os; print('ready', flush=True); input(); print(os.environ.get('GOMP_SPINCOUNT'), flush=True)"
    with WorkerProcess(_python(code)) as peer:
        assert peer.ask("go") == "None"


@pytest.mark.parametrize("command", [_python("raise SystemExit(7)"), ["/nowhere/python", "script.py"]])
def test_who_does_not_start_says_so(command: list[str]) -> None:
    with pytest.raises(LeftOutError, match=r"did not start: .*(code 7|No such file)"):
        WorkerProcess(command)


def test_who_dies_says_so() -> None:
    with WorkerProcess(_python(SHORT)) as peer:
        assert peer.ask("one") == "one"
        with pytest.raises(LeftOutError, match=r"died: .* code 3"):
            peer.ask("two")


def test_an_environment_that_cannot_be_made_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(LeftOutError, match=r"venv .* failed"):
        interpreter(Environment("eole"), tmp_path)
    (tmp_path / "eole").mkdir()
    (tmp_path / "eole" / ".ready").touch()
    with pytest.raises(LeftOutError, match="bin/python does not run"):
        interpreter(Environment("eole"), tmp_path)


def test_an_environment_tells_its_versions(tmp_path: Path) -> None:
    (tmp_path / "numpy" / "bin").mkdir(parents=True)
    (tmp_path / "numpy" / ".ready").touch()
    script = tmp_path / "numpy" / "bin" / "python"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    python = interpreter(Environment("numpy"), tmp_path)
    assert python.versions == f"numpy {numpy.__version__} with torch {torch.__version__}"


def test_who_dies_while_decoding_leaves_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[int] = []

    def dying(texts: list[str], beams: int) -> None:
        calls.append(beams)
        if len(calls) > 2:
            raise LeftOutError("it died")

    speeds = decoding._speeds({"ours": lambda texts, beams: None, "theirs": dying}, ["a", "b"], 3)
    assert list(speeds) == ["ours"]
    assert [len(values) for values in speeds["ours"]] == [3] * len(decoding.MODES)
    assert len(calls) == 3 and capsys.readouterr().err == "theirs is left out: it died\n"


def test_who_dies_while_training_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripts = {"first": "20.0 100.0", "second": "10.0 50.0", "dying": "", "broken": None}
    systems = []
    for name, answer in scripts.items():
        code = "raise SystemExit(1)" if answer is None else "print('ready', flush=True)\n"
        if answer:
            code += f"for _ in __import__('sys').stdin: print('{answer}', flush=True)"
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        systems.append(peers.System(name, f"{name}.py"))
    monkeypatch.setattr(peers, "HERE", tmp_path)
    monkeypatch.setattr(peers, "SYSTEMS", tuple(systems))
    measured = peers._measure({}, dict.fromkeys(systems, Path(sys.executable)), tmp_path / "data", 2)
    assert list(peers._lines(measured)) == [
        "| first | 20 (20 to 20) | 1.00 (1.00 to 1.00) × | 100 |",
        "| second | 10 (10 to 10) | 2.00 (2.00 to 2.00) × | 50 |",
    ]
    said = capsys.readouterr().err
    assert "dying is left out: it died" in said and "broken is left out: it did not start" in said
    del measured[systems[0]]
    assert list(peers._lines(measured)) == ["| second | 10 (10 to 10) | – | 50 |"]


def test_the_reason_is_said_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    leave_out("eole", LeftOutError("no network"))
    assert capsys.readouterr().err == "eole is left out: no network\n"
