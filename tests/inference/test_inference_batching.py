"""Order, batches, limits, prefixes, and rows that are too long."""

from __future__ import annotations

import sys
import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.config import SearchSettings
from regard.inference import TooLong, classify, decode
from regard.inference.batching import _workers_and_threads, pad_sources, plan_batches
from regard.models.seq2seq import Memory, Model, State, masked_mean
from regard.nn.taps import watching

BEAM = {"beams": 3, "n_best": 2}


def tokens(results):
    return [[one.tokens for one in found] for found in results]


@pytest.mark.parametrize("search", [{"beams": 1}, BEAM])
def test_order_and_batches_do_not_matter(toy, search):
    model = toy(11, eos_bonus=1.0)
    sources = [[3 + (i * j) % 8 for j in range((i * 5) % 13)] for i in range(30)]
    alone = [decode(model, [source], SearchSettings(**search))[0] for source in sources]
    for batch_tokens in (1, 64, 4096):
        model.rows.clear()
        together = decode(model, sources, SearchSettings(batch_tokens=batch_tokens, **search))
        assert tokens(together) == tokens(alone)
        assert max(model.rows) == search["beams"] or batch_tokens > 1


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 200))
def test_batches_hold_every_row_once_within_the_budget(lengths, budget):
    batches = list(plan_batches(lengths, budget))
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        assert batch and (len(batch) == 1 or len(batch) * max(lengths[place] for place in batch) <= budget)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("rows", [0, 1, 7, 30, 31, 200])
def test_batches_of_several_threads_fall_in_size(rows, threads):
    lengths = torch.randint(1, 9, (rows,), generator=torch.Generator().manual_seed(rows)).tolist()
    batches = list(plan_batches(lengths, 10**6, threads, 20))
    assert sorted(place for batch in batches for place in batch) == list(range(rows))
    by_length = [lengths[place] for batch in batches for place in batch]
    assert by_length == sorted(by_length, reverse=True)
    assert all(min(10, rows / threads) <= len(batch) <= 20 for batch in batches[:-1])
    assert threads == 1 or rows < 2 or len(batches) > 1, "a small input is shared, too"
    assert threads == 1 or rows < 30 or len(batches[-1]) < 16
    narrow = list(plan_batches(lengths, 12, threads, 20))
    assert sorted(place for batch in narrow for place in batch) == list(range(rows))
    assert all(len(batch) == 1 or len(batch) * max(lengths[place] for place in batch) <= 12 for batch in narrow)
    assert all(len(batch) == 1 for batch in plan_batches(lengths, 12, threads, 1))


def meeting(model):
    """The model, whose first two encodings wait for one another; and who encoded, in which modes."""
    seen, encode, meet = [], model.encode, threading.Barrier(2)

    def noted(source, mask):
        seen.append((threading.current_thread(), torch.get_num_threads(), torch.is_inference_mode_enabled()))
        if len(seen) <= 2:
            meet.wait(timeout=20)
        return encode(source, mask)

    model.encode = noted
    return model, seen


@pytest.mark.parametrize("search", [{"beams": 1}, BEAM, {"sample": True, "n_best": 2}])
def test_two_threads_search_a_batch_each(toy, two_threads, search):
    sources = [[3 + (i * j) % 8 for j in range((i * 5) % 13)] for i in range(30)]
    alone = [decode(toy(11, eos_bonus=1.0), [source], SearchSettings(**search))[0] for source in sources]
    model, seen = meeting(toy(11, eos_bonus=1.0).train())
    counts = []
    assert decode(model, sources, SearchSettings(batch_tokens=64, **search), progress=counts.append) == alone
    assert sum(counts) == len(sources) and len(counts) > 2
    assert len({thread for thread, _, _ in seen}) == 2
    assert all(modes == [1, True] for _, *modes in seen), "a thread of torch's each, and no gradients"
    assert model.training and not any(model.modes) and torch.get_num_threads() == 2
    later = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert later == [2], "what begins afterwards has torch's threads"


def test_one_batch_one_thread_and_whoever_is_watched_need_no_other_thread(toy, two_threads):
    sources, here = [[3, 4, 5]] * 20, threading.current_thread()
    model = toy(11, eos_bonus=1.0)
    _, seen = meeting(model)
    seen.extend([None, None])  # nobody waits
    decode(model, sources, SearchSettings(beams=1, batch_tokens=20 * 4))
    with watching(model):
        decode(model, sources, SearchSettings(batch_tokens=8))
    torch.set_num_threads(1)
    decode(model, sources, SearchSettings(batch_tokens=8))
    assert {thread for thread, _, _ in seen[2:]} == {here} and len(seen) > 10


@pytest.mark.parametrize(
    ("length", "count", "search", "threads"),
    [
        (30, 1, {"beams": 1}, 1),
        (300, 1, {"beams": 1}, 2),
        (30, 1, {"beams": 5}, 2),
        (30, 2, {"beams": 1}, 2),
        (30, 1, {"sample": True, "n_best": 2}, 2),
    ],
)
def test_one_short_row_needs_one_thread_and_all_others_have_two(toy, two_threads, length, count, search, threads):
    model, seen = meeting(toy(11, eos_bonus=1.0))
    seen.extend([None, None])
    decode(model, [[3] * length] * count, SearchSettings(batch_tokens=2000, **search))
    assert [found for _, found, _ in seen[2:]] == [threads]
    assert torch.get_num_threads() == 2


def test_a_long_prefix_and_a_large_output_layer_have_all_threads(toy, two_threads, monkeypatch):
    model, seen = meeting(toy(11, eos_bonus=1.0))
    seen.extend([None, None])
    decode(model, [[]], SearchSettings(beams=1), [[3] * 300])
    monkeypatch.setattr(sys.modules["regard.inference.batching"], "SMALL", -1)  # the name is a function, too
    decode(model, [[3]], SearchSettings(beams=1))
    assert [found for _, found, _ in seen[2:]] == [2, 2]


@pytest.mark.parametrize(("beams", "threads"), [(5, 1), (9, 2)])
def test_a_few_rows_of_a_short_list_need_one_thread(toy, two_threads, beams, threads):
    model, config = toy(11), SearchSettings(beams=beams, short_list=True)
    assert _workers_and_threads(model, [[0]], 30, 2, config) == (1, threads)
    assert _workers_and_threads(model, [[0], [1]], 30, 2, config) == (2, 1)


def test_threads_are_given_back_whatever_goes_wrong(toy, two_threads, monkeypatch):
    model = toy(11)
    monkeypatch.setattr(model, "encode", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        decode(model, [[3]], SearchSettings(beams=1))
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    ("prefixes", "sizes"),
    [([[]] * 12, [3, 3, 3, 2, 1]), ([[7]] * 4 + [[7, 8]] * 8, [3, 3, 2, 3, 1])],  # one length; two, as they are
)
def test_batches_of_one_length_fall_in_size(toy, two_threads, prefixes, sizes):
    together = []
    decode(toy(11), [[3, 4, 5]] * 12, SearchSettings(beams=1, batch_tokens=12), prefixes, together.append)
    assert together == sizes


@pytest.mark.parametrize("search", [{"beams": 1}, BEAM])
@pytest.mark.parametrize("who", ["encode", "progress"])
def test_whatever_goes_wrong_ends_what_other_threads_do(toy, two_threads, search, who):
    model, seen = meeting(toy(11, eos_bonus=-50.0))  # writes on and on
    encode, advance = model.encode, model.advance

    def encoded(source, mask):
        memory = encode(source, mask)
        if who == "encode" and source.shape[1] == 4:  # the first batch, whose result is waited for
            raise KeyboardInterrupt
        return memory

    def advanced(tokens, memory, state):
        logits, state = advance(tokens, memory, state)
        ends = memory.mask.shape[1] == 4
        return logits + 100 * ends * (torch.arange(11) == 2), state

    def interrupted(count):
        raise KeyboardInterrupt

    model.encode, model.advance = encoded, advanced
    config = SearchSettings(batch_tokens=8 * search["beams"], max_tokens=10**6, **search)
    with pytest.raises(KeyboardInterrupt):
        decode(model.train(), [[3, 4, 5], *[[3, 4]] * 20], config, progress=interrupted)
    assert model.training and torch.get_num_threads() == 2
    assert len(seen) <= 3, "the first batch, the second, and one for whoever had the first"


def test_sources_get_eos_and_a_mask():
    ids, mask = pad_sources([[5, 6], []], torch.device("cpu"))
    assert ids.tolist() == [[5, 6, 2], [2, 0, 0]]
    assert mask.tolist() == [[True, True, True], [True, False, False]]


def test_limits(toy):
    model = toy(11, eos_bonus=-50.0)  # never ends by itself
    for search in ({"beams": 1}, {"beams": 3}, {"sample": True}):
        (short, long) = decode(model, [[3], [4] * 7], SearchSettings(**search))
        assert [len(short[0].tokens), len(long[0].tokens)] == [52, 64]  # 2 × source + 50
        assert not short[0].finished and not long[0].finished
        (found,) = decode(model, [[3]], SearchSettings(max_tokens=6, **search))
        assert len(found[0].tokens) == 6
    model.max_target = 9  # BOS and 8 tokens are read, 9 written
    (found,) = decode(model, [[3]], SearchSettings(beams=1))
    assert len(found[0].tokens) == 9


@pytest.mark.parametrize("search", [{"beams": 1}, BEAM, {"sample": True}])
def test_a_prefix_is_continued(toy, search):
    """Forcing the first tokens of the best output gives the rest of it, for prefixes of several lengths in one call."""
    model = toy(11, seed=2, eos_bonus=0.5)
    config = SearchSettings(max_tokens=8, **search)
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
    greedy = decode(model, [[5]], SearchSettings(beams=1, max_tokens=8))[0][0]
    rest = decode(model, [[5]], SearchSettings(beams=1, max_tokens=6), [greedy.tokens[:2]])[0][0]
    assert greedy.tokens[2:] == rest.tokens


def test_too_long_is_reported_in_its_place(toy):
    model = toy(11, eos_bonus=1.0)
    model.max_source, model.max_target = 4, 5
    sources, prefixes = [[3], [3, 4, 5, 6], [3, 4, 5], [4]], [[], [], [], [3] * 5]
    results = decode(model, sources, SearchSettings(beams=2), prefixes)
    assert results[1] == TooLong("source", 5, 4) and results[3] == TooLong("prefix", 6, 5)
    assert str(results[1]) == "source of 5 tokens, the model takes 4; split it"
    assert tokens([results[0], results[2]]) == tokens(decode(model, [sources[0], sources[2]], SearchSettings(beams=2)))


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_of_the_model_is_restored(toy, training):
    model = toy(7)
    model.train(training)
    decode(model, [[3]], SearchSettings(max_tokens=4))
    assert model.training is training and not any(model.modes)
    model.step = None  # any failure inside
    with pytest.raises(TypeError):
        decode(model, [[3]], SearchSettings(max_tokens=4))
    assert model.training is training


def test_progress_and_nothing(toy):
    seen = []
    decode(toy(7), [[3]] * 9, SearchSettings(max_tokens=4, batch_tokens=20, beams=2), progress=seen.append)
    assert sum(seen) == 9 and len(seen) > 1
    assert decode(toy(7), [], SearchSettings()) == []


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
