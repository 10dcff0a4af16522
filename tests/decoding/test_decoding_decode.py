"""Order, batches, limits, prefixes, and rows that are too long."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.config import SearchConfig
from regard.decoding import TooLong, classify, decode
from regard.decoding.decode import pad_sources, plan_batches
from regard.models.seq2seq import Memory, Model, State, masked_mean

BEAM = {"beams": 3, "n_best": 2}


def tokens(results):
    return [[one.tokens for one in found] for found in results]


@pytest.mark.parametrize("search", [{"beams": 1}, BEAM])
def test_order_and_batches_do_not_matter(toy, search):
    model = toy(11, eos_bonus=1.0)
    sources = [[3 + (i * j) % 8 for j in range((i * 5) % 13)] for i in range(30)]
    alone = [decode(model, [source], SearchConfig(**search))[0] for source in sources]
    for batch_tokens in (1, 64, 4096):
        model.rows.clear()
        together = decode(model, sources, SearchConfig(batch_tokens=batch_tokens, **search))
        assert tokens(together) == tokens(alone)
        assert max(model.rows) == search["beams"] or batch_tokens > 1


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 200))
def test_batches_hold_every_row_once_within_the_budget(lengths, budget):
    batches = list(plan_batches(lengths, budget))
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        assert batch and (len(batch) == 1 or len(batch) * max(lengths[place] for place in batch) <= budget)


def test_sources_get_eos_and_a_mask():
    ids, mask = pad_sources([[5, 6], []], torch.device("cpu"))
    assert ids.tolist() == [[5, 6, 2], [2, 0, 0]]
    assert mask.tolist() == [[True, True, True], [True, False, False]]


def test_limits(toy):
    model = toy(11, eos_bonus=-50.0)  # never ends by itself
    for search in ({"beams": 1}, {"beams": 3}, {"sample": True}):
        (short, long) = decode(model, [[3], [4] * 7], SearchConfig(**search))
        assert [len(short[0].tokens), len(long[0].tokens)] == [52, 64]  # 2 × source + 50
        assert not short[0].finished and not long[0].finished
        (found,) = decode(model, [[3]], SearchConfig(max_tokens=6, **search))
        assert len(found[0].tokens) == 6
    model.max_target = 9  # BOS and 8 tokens are read, 9 written
    (found,) = decode(model, [[3]], SearchConfig(beams=1))
    assert len(found[0].tokens) == 9


@pytest.mark.parametrize("search", [{"beams": 1}, BEAM, {"sample": True}])
def test_a_prefix_is_continued(toy, search):
    """Forcing the first tokens of the best output gives the rest of it, for prefixes of several lengths in one call."""
    model = toy(11, seed=2, eos_bonus=0.5)
    config = SearchConfig(max_tokens=8, **search)
    sources, prefixes = [[3], [4, 5], [6], [7]], [[], [8, 9], [3], [4, 4]]
    results = decode(model, sources, config, prefixes)
    for source, prefix, found in zip(sources, prefixes, results, strict=True):
        assert tokens([found]) == tokens(decode(model, [source], config, [prefix]))
        ids = torch.tensor([[*source, 2]])
        whole = [1, *prefix, *found[0].tokens, *([2] if found[0].finished else [])]
        logits = model(ids, torch.ones_like(ids, dtype=torch.bool), torch.tensor([whole[:-1]]))
        picked = torch.log_softmax(logits, -1)[0, len(prefix) :].gather(
            1, torch.tensor(whole[1 + len(prefix) :])[:, None]
        )
        assert found[0].token_log_probs == pytest.approx(picked.squeeze(1).tolist(), abs=1e-5)
    greedy = decode(model, [[5]], SearchConfig(beams=1, max_tokens=8))[0][0]
    rest = decode(model, [[5]], SearchConfig(beams=1, max_tokens=6), [greedy.tokens[:2]])[0][0]
    assert greedy.tokens[2:] == rest.tokens


def test_too_long_is_reported_in_its_place(toy):
    model = toy(11, eos_bonus=1.0)
    model.max_source, model.max_target = 4, 5
    sources, prefixes = [[3], [3, 4, 5, 6], [3, 4, 5], [4]], [[], [], [], [3] * 5]
    results = decode(model, sources, SearchConfig(beams=2), prefixes)
    assert results[1] == TooLong("source", 5, 4) and results[3] == TooLong("prefix", 6, 5)
    assert str(results[1]) == "source of 5 tokens, the model takes 4; split it"
    assert tokens([results[0], results[2]]) == tokens(decode(model, [sources[0], sources[2]], SearchConfig(beams=2)))


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_of_the_model_is_restored(toy, training):
    model = toy(7)
    model.train(training)
    decode(model, [[3]], SearchConfig(max_tokens=4))
    assert model.training is training and not any(model.modes)
    model.step = None  # any failure inside
    with pytest.raises(TypeError):
        decode(model, [[3]], SearchConfig(max_tokens=4))
    assert model.training is training


def test_progress_and_nothing(toy):
    seen = []
    decode(toy(7), [[3]] * 9, SearchConfig(max_tokens=4, batch_tokens=20, beams=2), progress=seen.append)
    assert sum(seen) == 9 and len(seen) > 1
    assert decode(toy(7), [], SearchConfig()) == []


class Pooled(Model):
    """Classes from the mean of embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.max_source = 6
        self.table = torch.nn.Embedding(10, 4)
        self.drop = torch.nn.Dropout(0.5)

    def encode(self, source, mask):
        states = self.drop(self.table(source))
        return Memory(states, mask, masked_mean(states, mask))

    def start(self, memory):
        return State()

    def advance(self, tokens, memory, state):
        assert tokens.tolist() == [[1]] * len(tokens)
        return memory.summary.unsqueeze(1), state

    @property
    def output_layer(self):
        return torch.nn.Identity()


def test_classify():
    torch.manual_seed(1)
    model, sources = Pooled(), [[3, 4], [], [5] * 6, [5, 6, 7]]
    found = classify(model, sources, batch_tokens=8)
    assert found[2] == TooLong("source", 7, 6) and model.training
    for place in (0, 1, 3):
        expected = torch.softmax(model.table(torch.tensor([*sources[place], 2])).mean(0), -1)
        assert found[place] == pytest.approx(expected.tolist(), abs=1e-6)
