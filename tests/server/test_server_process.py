"""`regard serve` as a process: what it prints, SIGTERM, SIGHUP, bad arguments."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from regard.cli import main


@contextmanager
def serving_process(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and its address when it answers."""
    command = [sys.executable, "-m", "regard", "serve", *words, "--port", "0", "--threads", "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        said = ""
        for line in process.stderr:
            said += line
            if found := re.match(r"serving on (http://\S+)/", line):
                break
        else:
            raise AssertionError(said)
        yield process, found[1]
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def ask(url: str, fields: dict[str, Any], timeout: float = 60) -> Any:
    request = urllib.request.Request(url, json.dumps(fields).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return json.load(answer)


TEXTS = {"q": ["abcd"] * 100, "source": "en", "target": "es"}


def test_sigterm_finishes_what_was_accepted(translator_run: Path) -> None:
    with serving_process("--as", f"en-es={translator_run}") as (process, url):
        answers: list[Any] = []
        threads = [threading.Thread(target=lambda: answers.append(ask(f"{url}/translate", TEXTS))) for _ in range(4)]
        idle = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
        for thread in threads:
            thread.start()
        assert process.stderr is not None
        threading.Thread(target=process.stderr.read, daemon=True).start()  # a full pipe would stop the server
        while not _in_work(url) and len(answers) < len(threads):  # a fast machine may have answered them all
            time.sleep(0.005)
        process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        assert answers == [{"translatedText": ["abcd"] * 100}] * 4
        assert process.wait(timeout=60) in (0, -signal.SIGTERM)
        idle.close()


def _in_work(url: str) -> bool:
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        return "regard_texts_in_work 400.0" in answer.read().decode()


def test_sighup_takes_over_new_weights_without_a_failed_request(translator_run: Path, copied_run: Any) -> None:
    folder = copied_run.path
    with serving_process("--as", f"en-es={folder}") as (process, url):
        stop, answers, failures = threading.Event(), [], []

        def client() -> None:
            while not stop.is_set():
                try:
                    answers.append(ask(f"{url}/translate", {"q": "abcd", "source": "en", "target": "es"}))
                except OSError as error:
                    failures.append(error)

        thread = threading.Thread(target=client)
        thread.start()
        assert process.stderr is not None
        for content in (b"damaged", (translator_run / "model.safetensors").read_bytes()):
            part = folder / "part"
            part.write_bytes(content)
            part.replace(folder / "model.safetensors")
            process.send_signal(signal.SIGHUP)
            line = next(line for line in process.stderr if not line.startswith("{"))
            assert ("loaded again: changing" in line) == (content != b"damaged"), line
        stop.set()
        thread.join()
    assert answers and not failures
    assert {answer["translatedText"] for answer in answers} == {"abcd"}


def test_weights_that_changed_are_answered_with(
    live: Any, serving: Any, copied_run: Any, tiny_run: Any, tmp_path: Path
) -> None:
    """A run of the same kind that has learned nothing comes in its place."""
    with serving([copied_run]) as server:
        body = {"q": "abcd", "source": "en", "target": "es"}
        assert server.post("/translate", body).json == {"translatedText": "abcd"}
        model = {"width": 32, "depth": 1, "heads": 2, "dropout": 0.0}
        data = {"corpus": "copy", "lengths": "1-4", "examples": 2000}
        other = tiny_run(tmp_path / "other", "transformer", data, model, {"steps": 2, "evaluate_every": 2})
        (other / "model.safetensors").replace(copied_run.path / "model.safetensors")
        assert server.post("/translate", body).json == {"translatedText": "abcd"}, "not before it is told"
        assert server.post("/v1/models/reload", {}).status == 200
        assert server.post("/translate", body).json != {"translatedText": "abcd"}
        (copied_run.path / "model.safetensors").write_bytes(b"damaged")
        refused = server.post("/v1/models/reload", {})
        assert refused.status == 409 and "old weights" in refused.json["error"]
        assert server.post("/translate", body).status == 200


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to serve"),
        (["nowhere"], "nowhere is not a directory"),
        (["RUN", "--as", "en-es=RUN"], "two runs are called copy"),
        (["--as", "english=RUN"], "--as english="),
        (["--as", "en-es"], "--as en-es: write two languages and a run"),
        (["RUN", "--port", "99999"], "--port 99999"),
        (["RUN", "--host", "256.0.0.1"], "cannot listen on 256.0.0.1"),
        (["RUN", "--suggestions", "pairs.txt"], "must end in .jsonl"),
        (["RUN", "--texts", "0"], "texts"),
        (["RUN", "--api-key-file", "none"], "none"),
        (["CLASSIFIER", "--accept-any-pair"], "no translator is served"),
    ],
)
def test_bad_arguments_are_one_line(
    capsys: pytest.CaptureFixture[str], translator_run: Path, classifier_run: Path, words: list[str], message: str
) -> None:
    runs = {"RUN": str(translator_run), "CLASSIFIER": str(classifier_run)}
    given = [re.sub("RUN|CLASSIFIER", lambda match: runs[match[0]], word) for word in words]
    if "--port" not in given:
        given += ["--port", "0"]
    assert main(["serve", *given]) == 2
    said = capsys.readouterr().err.strip()
    assert message in said and said.startswith("regard: ") and "\n" not in said


def test_a_port_that_is_taken_is_said_before_models_are_loaded(
    capsys: pytest.CaptureFixture[str], translator_run: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", str(translator_run), "--port", str(taken.getsockname()[1])]) == 2
    assert "choose another --host or --port" in capsys.readouterr().err
