"""Our own API against the library: what it answers is what `regard.load` gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard.data.embedded.scene import draw, parse
from regard.data.images import png
from regard.pipeline import Captioner, SourceToText, require
from regard.server import RunToServe

TEXT = "abcd"


@pytest.fixture(scope="module")
def copier(translator_run: Path) -> SourceToText:
    return require(regard.load(translator_run, threads=1), SourceToText, "")


@pytest.fixture(scope="module")
def shapes_run(tiny_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_run(tmp_path_factory.mktemp("runs") / "shapes", "image-transformer", {"corpus": "shapes"})


@pytest.fixture(scope="module")
def many(
    serving: Callable[..., Any], spanish_run: RunToServe, classifier_run: Path, language_run: Path, shapes_run: Path
) -> Iterator[Any]:
    """A server of one run of each task."""
    with serving([spanish_run, classifier_run, language_run, shapes_run]) as server:
        yield server


def ask(server: Any, path: str, **body: Any) -> Any:
    answer = server.post(f"/v1/{path}", {"model": "copy", **body} if "model" not in body else body)
    assert answer.status == 200, answer.body
    return answer.json


def test_translations_are_those_of_the_library(many: Any, copier: SourceToText) -> None:
    answer = ask(many, "translate", text=[TEXT, "ba"], n_best=3, alignments=True)
    for output, result in zip(answer["outputs"], copier.translate([TEXT, "ba"], n_best=3), strict=True):
        assert (output["text"], tuple(output["ids"])) == (result.text, result.ids)
        assert output["score"] == pytest.approx(result.score, abs=1e-4)
        assert [other["text"] for other in output["alternatives"]] == [other.text for other in result.alternatives]
        assert {tuple(link) for link in output["alignment"]} == result.alignment()


def test_a_model_is_chosen_by_its_languages(many: Any) -> None:
    answer = many.post("/v1/translate", {"text": "ab", "source_language": "en-US", "target_language": "ES"})
    assert answer.json["model"] == "copy"
    unknown = many.post("/v1/translate", {"text": "ab", "source_language": "en", "target_language": "de"})
    assert unknown.status == 404


def test_prefixes_samples_and_changes(many: Any, copier: SourceToText) -> None:
    forced = ask(many, "translate", text=TEXT, prefix="d")["outputs"][0]
    assert forced["text"] == copier.translate(TEXT, prefix="d").text and forced["text"].startswith("d")
    by_ids = ask(many, "translate", text=TEXT, prefix_ids=forced["ids"][:1])["outputs"][0]
    assert by_ids["ids"] == forced["ids"]
    drawn = ask(many, "translate", text=TEXT, sample=True, temperature=3, seed=7)["outputs"][0]
    assert drawn["text"] == copier.translate(TEXT, sample=True, temperature=3.0, seed=7).text
    head = "decoder.layers.0.cross_attention"
    silent = ask(many, "translate", text=TEXT, silence=[head])["outputs"][0]
    assert silent["text"] == copier.without(head).translate(TEXT).text != copier.translate(TEXT).text


def events_of(body: bytes) -> list[tuple[str, dict[str, Any]]]:
    events = []
    for block in body.decode().strip().split("\n\n"):
        name, data = block.split("\n")
        events.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return events


def test_a_stream_sends_each_token(many: Any, copier: SourceToText) -> None:
    answer = many.post("/v1/translate", {"model": "copy", "text": TEXT, "stream": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    *growing, (last, whole) = events_of(answer.body)
    assert last == "done" and {name for name, _ in growing} == {"token"}
    assert [data["text"] for _, data in growing] == [part.text for part in copier.stream(TEXT)]
    assert whole["text"] == copier.translate(TEXT, beams=1).text


def test_a_trace_is_the_record_of_the_library(many: Any, copier: SourceToText) -> None:
    expected = copier.view(TEXT).as_dict()
    found = ask(many, "trace", text=TEXT)
    assert [m["name"] for m in found["maps"]] == [m["name"] for m in expected["maps"]]
    assert found["output_tokens"] == expected["output_tokens"]
    assert len(found["predictions"]) == len(found["output_tokens"])
    assert found["predictions"][0]["alternatives"][0]["token"] == found["output_tokens"][0]
    forced = ask(many, "trace", text=TEXT, target="dcba", silence=["decoder.layers.0.cross_attention.1"])
    assert forced["text"] == "dcba" and forced["changes"]["silence"] == ["decoder.layers.0.cross_attention.1"]
    cross = next(m for m in forced["maps"] if m["name"] == "decoder.layers.0.cross_attention")
    assert not any(map(any, cross["weights"][1])) and any(map(any, cross["weights"][0]))


def test_a_tree_is_that_of_the_search(many: Any, copier: SourceToText) -> None:
    tree = ask(many, "tree", text=TEXT, beams=3)
    assert tree["kind"] == "tree" and tree["source"] == TEXT and tree["model"] == "copy"
    assert tree["text"] == copier.translate(TEXT, beams=3).text
    assert len(tree["steps"][0]) == 3


def test_classes_and_continuations(many: Any, classifier_run: Path, language_run: Path) -> None:
    expected = regard.load(classifier_run, threads=1).translate("le Japon")
    answer = many.post("/v1/classify", {"text": ["le Japon", "Japan"]}).json
    assert answer["model"] == "languages" and answer["results"][0]["label"] == expected.text
    assert answer["results"][0]["probability"] == pytest.approx(expected.probabilities[expected.text], abs=1e-5)
    model = regard.load(language_run, threads=1)
    written = ask(many, "translate", model="prose", text="The ", max_tokens=8, beams=1)["outputs"][0]
    assert written["text"] == model.translate("The ", max_tokens=8, beams=1).text


def upload(server: Any, content: bytes, **fields: str) -> Any:
    parts = "".join(
        f'--X\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()
    ).encode()
    parts += b'--X\r\nContent-Disposition: form-data; name="file"; filename="../../x.png"\r\n\r\n' + content
    kind = {"content-type": "multipart/form-data; boundary=X"}
    return server.ask("POST", "/v1/caption", parts + b"\r\n--X--\r\n", kind)


def test_a_picture_that_is_sent_gets_its_caption(many: Any, shapes_run: Path, tmp_path: Path) -> None:
    captioner = require(regard.load(shapes_run, threads=1), Captioner, "")
    scene = captioner.run.examples("test")[0].source
    content = png(draw(parse(scene), 64))
    file = tmp_path / "picture.png"
    file.write_bytes(content)
    answer = upload(many, content, trace="true")
    assert answer.status == 200, answer.body
    assert answer.json["output"]["text"] == captioner.translate(str(file)).text
    assert answer.json["trace"]["image"]["uri"].startswith("data:image/")
    assert "picture.png" not in answer.body.decode(), "a file of the server's"


@pytest.mark.parametrize("content", [b"", b"no picture", b"\x89PNG\r\n\x1a\n damaged", b"<svg/>"])
def test_what_is_no_picture_is_refused(many: Any, content: bytes) -> None:
    answer = upload(many, content)
    assert answer.status == 400 and "file: " in answer.json["error"]


def test_a_picture_of_too_many_pixels_is_refused(serving: Callable[..., Any], shapes_run: Path) -> None:
    content = png(np.zeros((40, 40, 3), np.uint8))
    with serving([shapes_run], {"picture_pixels": 1000}) as server:
        answer = upload(server, content)
    assert answer.status == 413 and "40 × 40 pixels" in answer.json["error"]


def test_a_picture_model_reads_no_files_of_the_server(many: Any, shapes_run: Path) -> None:
    """Elsewhere its text is the name of a file."""
    for path in ("translate", "trace", "tree"):
        answer = many.post(f"/v1/{path}", {"model": "shapes", "text": "/etc/passwd"})
        assert answer.status == 400 and "/v1/caption" in answer.json["error"]


def test_models_say_what_they_are(many: Any) -> None:
    models = {model["name"]: model for model in many.get("/v1/models").json["models"]}
    assert models["copy"]["source_language"] == "en" and models["copy"]["target_language"] == "es"
    assert models["copy"]["attentions"]["decoder.layers.0.cross_attention"] == 2
    assert models["languages"]["task"] == "classification" and "French" in models["languages"]["classes"]
    assert {model["task"] for model in models.values()} == {
        "translation",
        "classification",
        "continuation",
        "captioning",
    }


REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    ("translate", {"model": "copy"}, 400, "text: Field required"),
    ("translate", {"model": "copy", "text": "a", "beam": 3}, 400, "beam: Extra inputs are not permitted"),
    ("translate", {"model": "copy", "text": "a", "beams": 0}, 400, "beams: "),
    ("translate", {"model": "copy", "text": "a", "beams": 50}, 400, "at most 20 beams"),
    ("translate", {"model": "copy", "text": "a", "max_tokens": 5000}, 400, "max_tokens: at most 1000"),
    ("translate", {"model": "copy", "text": "a", "temperature": "hot"}, 400, "temperature: "),
    ("translate", {"text": "a"}, 400, "several models are served"),
    ("translate", {"model": "none", "text": "a"}, 404, "no model is called 'none'"),
    ("translate", {"model": "copy", "text": "a", "prefix_ids": [1]}, 400, "no id of a token"),
    ("translate", {"model": "copy", "text": "a", "prefix": "b", "prefix_ids": [4]}, 400, "not both"),
    ("translate", {"model": "copy", "text": "a", "silence": ["nothing"]}, 400, "no attention is called"),
    ("translate", {"model": "copy", "text": "a", "short_list": True}, 400, "short_list"),
    ("translate", {"model": "copy", "text": ["a", "b"], "stream": True}, 400, "one text at a time"),
    ("translate", {"model": "copy", "text": "a", "stream": True, "beams": 3}, 400, "a stream has one beam"),
    ("translate", {"model": "languages", "text": "a"}, 400, "/v1/classify"),
    ("trace", {"model": "copy", "text": "ab" * 60}, 400, "more than 100 tokens"),
    ("trace", {"model": "copy", "text": "ab", "target": "ab" * 150}, 400, "more than 200 tokens"),
    ("trace", {"model": "copy", "text": "ab", "first": "x"}, 400, "no attention is called 'x'"),
    ("trace", {"model": "copy", "text": "ab", "hide": [7]}, 400, "no word 7"),
    ("tree", {"model": "copy", "text": "ab", "sample": True}, 400, "sampling"),
    ("tree", {"model": "prose", "text": "ab"}, 400, "continuation"),
    ("classify", {"model": "copy", "text": "a"}, 400, "name a model that classifies"),
    ("classify", {"text": ["a", " "]}, 400, "an empty text has no class"),
]


@pytest.mark.parametrize(("path", "body", "status", "message"), REFUSED, ids=[message for *_, message in REFUSED])
def test_refusals_say_what_to_change(many: Any, path: str, body: dict[str, Any], status: int, message: str) -> None:
    answer = many.post(f"/v1/{path}", body)
    assert answer.status == status, answer.body
    assert message in answer.json["error"] and "\n" not in answer.json["error"]


def test_reloading_is_for_this_machine_and_for_holders_of_keys(serving: Callable[..., Any], spanish_run: Any) -> None:
    with serving([spanish_run]) as server:
        before = server.get("/v1/models").json["models"][0]["loaded"]
        assert server.post("/v1/models/reload", {}).json["models"][0]["loaded"] > before
        assert server.post("/v1/models/reload", {"models": ["none"]}).status == 404
        assert server.post("/v1/models/reload", {}, origin="https://elsewhere.example").status == 403
