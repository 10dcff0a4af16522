"""Pointing counts a hit where attention peaks on the object whose noun is written."""

from __future__ import annotations

import torch

from regard.data.embedded.scene import parse
from regard.data.tokenizer import Tokenizer
from regard.evaluation import evaluate_captions, render
from regard.evaluation.metrics import share
from regard.evaluation.pointing import in_box, object_hits

SCENE = parse("scene 7: small red circle 20,14; striped blue square 24,44")
CAPTION = "a small red circle above a striped blue square"


def test_a_cell_is_on_a_thing_if_its_centre_is_in_the_box() -> None:
    circle = SCENE.things[0]  # 13.5 to 26.5 across, 7.5 to 20.5 down
    hits = [cell for cell in range(64) if in_box(circle, cell, 64)]
    assert {divmod(cell, 8) for cell in hits} == {(1, 2), (2, 2)}


def test_each_noun_is_judged_at_its_own_step() -> None:
    tokenizer = Tokenizer.train([CAPTION, CAPTION], "word")
    steps = [tokenizer.tokens([i])[0].strip() for i in tokenizer.encode(CAPTION)]
    looked = torch.full((len(steps) + 1, 64), 1e-3)
    looked[:, 0] = 1.0  # everything looks into a corner
    assert object_hits(looked, SCENE, CAPTION, tokenizer) == [False, False]
    looked[steps.index("circle"), 8 * 1 + 2] = 2.0
    assert object_hits(looked, SCENE, CAPTION, tokenizer) == [True, False]
    looked[steps.index("square"), 8 * 5 + 3] = 2.0
    assert object_hits(looked, SCENE, CAPTION, tokenizer) == [True, True]


def test_a_noun_of_several_tokens_is_one_look() -> None:
    tokenizer = Tokenizer.train([CAPTION], "character")
    looked = torch.full((len(CAPTION) + 1, 64), 1e-3)
    start = CAPTION.index("circle")
    looked[start : start + 6, 8 * 1 + 2] = 1.0
    assert object_hits(looked, SCENE, CAPTION, tokenizer) == [True, False]


def test_the_report_of_captions_reads_well() -> None:
    texts = ["a red circle", "a blue square"]
    report = evaluate_captions(texts, ["a red circle", "a blue star"], pointing=share("pointing", 3, 4), resamples=10)
    text = render(report)
    assert report.exact.value == 50 and report.as_dict()["task"] == "captioning"
    assert "2 images" in text and "pointing         75.00" in text and "length of the caption in words" in text
    assert "pointing" not in render(evaluate_captions(texts, texts, resamples=10))
