"""Codecs: which ones a corpus gets, that they share a vocabulary where asked, and that they load as they were saved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_plans import tiny_plan

from regard.config import Plan, TokenizerSettings
from regard.data.codecs import load_codecs, train_codecs
from regard.data.corpus import Corpus, Task
from regard.data.examples import Example
from regard.data.images import write_png

TOKENIZER = {"kind": "character", "size": 300}


def plan_for(preset: str, shared: bool = False) -> Plan:
    return tiny_plan({"model": {"preset": preset, "image_size": 16}, "tokenizer": {**TOKENIZER, "shared": shared}})


def corpus(task: Task, sources: list[str], images: Path | None = None) -> Corpus:
    train = [Example(source, target) for source, target in zip(sources, ("ab", "ba", "ab"), strict=True)]
    return Corpus("c", train, [], [], [], (), task, TokenizerSettings(), "transformer", images)


@pytest.mark.parametrize(
    ("preset", "task", "shared", "kinds", "end"),
    [
        ("transformer", "translation", False, ("character", "character"), (2,)),
        ("transformer", "translation", True, ("character", "character"), (2,)),
        ("lstm-classifier", "classification", False, ("character", "labels"), ()),
        ("image-lstm", "captioning", False, ("images", "character"), (2,)),
    ],
)
def test_trained_saved_and_loaded_codecs_are_the_same(
    tmp_path: Path, preset: str, task: Task, shared: bool, kinds: tuple[str, str], end: tuple[int, ...]
) -> None:
    images = tmp_path if task == "captioning" else None
    sources = ["a.png", "a.png", "a.png"] if images else ["xy", "yz", "zx"]
    write_png(tmp_path / "a.png", np.full((16, 16, 3), 9, np.uint8))
    plan, examples = plan_for(preset, shared), corpus(task, sources, images)
    codecs = train_codecs(plan, examples)
    files = tmp_path / "source.json", tmp_path / "target.json"
    codecs[0].save(files[0])
    if not shared:
        codecs[1].save(files[1])
    loaded = load_codecs(*files, plan, images)
    assert (codecs[0] is codecs[1]) == (loaded[0] is loaded[1]) == shared
    for codec, again, kind in zip(codecs, loaded, kinds, strict=True):
        assert codec.kind == again.kind == kind and codec.size == again.size and again.same_as(codec)
    source, target = loaded[0].encode(sources[0]), loaded[1].encode("ab")
    assert len(loaded[0].source_tokens(source)) == len(source) + (images is None)  # cells have no end
    assert loaded[1].decode(target) == "ab" and loaded[1].end == end
    assert not codecs[0].same_as(codecs[1]) or shared


def test_each_side_has_its_kind() -> None:
    tokenizer = {"kind": "symbol", "source_kind": "character", "size": 300, "shared": False}
    plan = tiny_plan({"model": {"preset": "transformer"}, "tokenizer": tokenizer})
    source, target = train_codecs(plan, corpus("translation", ["xy", "yz", "zx"]))
    assert (source.kind, target.kind) == plan.tokenizer.kinds == ("character", "symbol")
