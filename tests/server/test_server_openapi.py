"""The OpenAPI description: no request brings an answer that it does not describe, and all of its examples work."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.server import RunToServe

HTTP_METHODS = {"get", "post"}


@pytest.fixture(scope="module")
def described(
    serving: Callable[..., Any], spanish_run: RunToServe, classifier_run: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    file = tmp_path_factory.mktemp("server") / "suggestions.jsonl"
    with serving([spanish_run, classifier_run], suggestions=file, memory=True) as server:
        yield server


@pytest.mark.parametrize(
    ("phases", "examples"),
    [("fuzzing", 2), pytest.param("examples,coverage,fuzzing", 100, marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_schemathesis_finds_no_failure(described: Any, tmp_path: Path, phases: str, examples: int) -> None:
    """Right and wrong requests by the hundred: nothing is answered by 5xx, or otherwise than described.

    That whatever fits the schema is accepted is not asked for: which languages and models there are is no schema's.
    """
    pytest.importorskip("schemathesis")
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{described.url}/openapi.json", "--no-color"]
    options = ["--phases", phases, "--max-examples", str(examples), "--exclude-checks", "positive_data_acceptance"]
    options += ["--generation-deterministic", "--request-timeout", "60"]
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) >= 21, done.stdout[-2000:]


def resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


def examples_of(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert method in HTTP_METHODS
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            schemas = [content.get("schema", {}), *content.get("schema", {}).get("anyOf", [])]
            for schema in (resolved(schema, document) for schema in schemas):
                yield from ((path, example) for example in schema.get("examples", []))


def test_every_example_is_answered(
    serving: Callable[..., Any], tiny_run: Callable[..., Path], classifier_run: Path, tmp_path: Path
) -> None:
    dates = tiny_run(tmp_path / "dates", "transformer", {"corpus": "dates"}, None, {"steps": 2, "evaluate_every": 2})
    seen = set()
    with serving([dates]) as alone, serving([dates, classifier_run]) as both:
        document = alone.get("/openapi.json").json
        for path, example in examples_of(document):
            server = both if "classify" in path else alone
            answer = server.post(path, example)
            assert answer.status == 200, (path, example, answer.body)
            seen.add(path)
    posts = {path: str(methods.get("post", {}).get("requestBody")) for path, methods in document["paths"].items()}
    assert seen == {path for path, body in posts.items() if "application/json" in body} - {"/suggest"}
