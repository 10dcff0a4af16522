"""Teacher forcing counts each real token once; reports are complete, plain and readable."""

from __future__ import annotations

import json
import math

import pytest
import torch
from torch import Tensor, nn

from regard.data.batches import Batch
from regard.errors import UserError
from regard.evaluation import (
    TeacherForced,
    evaluate_classifier,
    evaluate_language,
    evaluate_translation,
    render,
    teacher_forced,
)
from regard.models.seq2seq import Memory, Model, State, masked_mean


class Bigram(Model):
    """Logits from the last token and the mean of the source."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.source, self.table, self.drop = nn.Embedding(size, size), nn.Embedding(size, size), nn.Dropout(0.5)

    def encode(self, source: Tensor, mask: Tensor) -> Memory:
        states = self.source(source)
        return Memory(states, mask, masked_mean(states, mask))

    def start(self, memory: Memory) -> State:
        return State()

    def advance(self, tokens: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        return self.drop(self.table(tokens)) + memory.summary.unsqueeze(1), state

    @property
    def output_layer(self) -> nn.Identity:
        return nn.Identity()


def batch_of(pairs: list[tuple[list[int], list[int]]]) -> Batch:
    def pad(rows: list[list[int]]) -> Tensor:
        return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)

    source, out = pad([[*source, 2] for source, _ in pairs]), pad([[*target, 2] for _, target in pairs])
    mask = pad([[1] * (len(target) + 1) for _, target in pairs]).bool()
    return Batch(
        source=source,
        source_mask=pad([[1] * (len(source) + 1) for source, _ in pairs]).bool(),
        target_in=pad([[1, *target] for _, target in pairs]),
        target_out=out,
        target_mask=mask,
        token_count=int(mask.sum()),
        rows=tuple(range(len(pairs))),
    )


PAIRS = [([3, 4], [5]), ([5, 5, 5, 5], [3, 4, 5, 6]), ([], []), ([6], [3, 3])]


def test_teacher_forced_is_the_mean_over_real_tokens():
    torch.manual_seed(3)
    model = Bigram(7)
    loss, right, tokens = 0.0, 0, 0
    for source, target in PAIRS:  # one by one: no padding anywhere
        summary = model.source(torch.tensor([*source, 2])).mean(0)
        for before, truth in zip([1, *target], [*target, 2], strict=True):
            log_probs = torch.log_softmax(model.table(torch.tensor(before)) + summary, -1)
            loss, right, tokens = loss - log_probs[truth].item(), right + int(log_probs.argmax() == truth), tokens + 1
    for batches in ([batch_of(PAIRS)], [batch_of(PAIRS[:1]), batch_of(PAIRS[1:])]):
        found = teacher_forced(model, batches)
        assert found.loss == pytest.approx(loss / tokens, abs=1e-6)
        assert found.token_accuracy == pytest.approx(100 * right / tokens)
        assert found.tokens == tokens == 11
    assert model.training
    with pytest.raises(UserError, match="0 target tokens"):
        teacher_forced(model, [])


def test_a_class_with_id_0_counts():
    model = Bigram(5)
    model.table.weight.data.zero_()
    model.source.weight.data.zero_()
    model.source.weight.data[:, 0] = 9.0  # always class 0
    source = torch.tensor([[3, 2], [4, 2]])
    one = torch.ones(2, 1, dtype=torch.long)
    batch = Batch(source, source > 0, one, torch.tensor([[0], [4]]), one.bool(), 2, (0, 1))
    assert teacher_forced(model, [batch]).token_accuracy == 50


def test_translation_report():
    references = [f"the number {['one', 'two', 'three', 'four', 'five'][i % 5]} is here" for i in range(30)]
    hypotheses = ["the number one is here"] * 30
    sources = [f"{'x' * (i + 1)}" for i in range(30)]
    forced = TeacherForced(0.5, 80.0, 99, 70.0)
    report = evaluate_translation(hypotheses, references, sources, forced=forced, unfinished=2, resamples=50)
    assert report.exact.value == 20 and report.length_unit == "characters" and report.sentences == 30
    assert sum(bucket.sentences for bucket in report.by_length) == 30
    back = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    assert back["bleu"]["value"] == report.bleu.value and back["bleu"]["signature"].startswith("nrefs:1|")
    assert back["forced"]["perplexity"] == pytest.approx(math.exp(0.5)) and back["task"] == "translation"
    text = render(report)
    for expected in ("30 sentences", "of these 2 ended by", "BLEU", "chrF", "TER", "exact match", "20.00", "tok:13a"):
        assert expected in text
    assert "too long" not in text and max(map(len, text.splitlines())) <= 110
    tokens = evaluate_translation(hypotheses, references, sources, lengths=[3] * 30, resamples=0)
    assert tokens.length_unit == "tokens" and len(tokens.by_length) == 1
    assert "interval" not in render(tokens).split("exact match")[0]
    with pytest.raises(UserError, match="references"):
        evaluate_translation(hypotheses, references, sources[1:])


def test_language_report():
    forced = TeacherForced(loss=math.log(4), token_accuracy=50.0, tokens=30, sentence_accuracy=0.0)
    report = evaluate_language(forced, ["abcde", "fghij"], {"gzip": 3.5})
    assert report.bits_per_character == pytest.approx(2 * 30 / 10) and report.characters == 10
    lines = render(report).splitlines()
    assert [line.split()[0] for line in lines[-2:]] == ["gzip", "this"]  # the better one first
    assert json.loads(json.dumps(report.as_dict()))["baselines"] == {"gzip": 3.5}
    with pytest.raises(UserError, match="0 characters"):
        evaluate_language(forced, [""])


def test_classifier_report():
    report = evaluate_classifier([0, 0, 1, 1, None, 0], [0, 0, 0, 1, 1, 1], ["fr", "de", "sw"], too_long=1)
    assert report.accuracy.value == 50 and report.majority.value == 50 and report.too_long == 1
    assert report.confusion == ((2, 1, 0), (1, 1, 0), (0, 0, 0))
    french, german, swahili = report.classes
    assert (french.precision, french.recall) == (pytest.approx(200 / 3), pytest.approx(200 / 3))
    assert (german.precision, german.recall) == (50, pytest.approx(100 / 3)) and german.f1 == pytest.approx(40)
    assert (swahili.sentences, swahili.precision, swahili.recall, swahili.f1) == (0, None, None, None)
    assert report.macro_f1 == pytest.approx((200 / 3 + 40) / 2)
    text = render(report)
    assert "1 too long" in text and "rows are true classes" in text and "–" in text
    json.dumps(report.as_dict(), allow_nan=False)
    nobody = evaluate_classifier([None], [1], ["a", "b"])
    assert nobody.accuracy.value == 0


def test_many_classes_show_their_confusions():
    names = [f"class{number}" for number in range(30)]
    report = evaluate_classifier([1, 1, *range(30)], [0, 0, *range(30)], names)
    text = render(report)
    assert "2  class0 predicted as class1" in text and "rows are true classes" not in text
    perfect = render(evaluate_classifier(list(range(30)), list(range(30)), names))
    assert perfect.endswith("none")
