"""Greedy, beam and sampling against the definition: scoring whole sequences by teacher forcing."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
import torch

from regard.config import SearchSettings
from regard.inference import Hypothesis, decode
from regard.inference.sampling import candidates, quantile

SOURCES = [[5, 3, 4], [3], [4, 4, 5, 3, 3], [], [3, 5]]
EOS = 2


def sequence_log_prob(model, source, tokens):
    """Sum of log-probabilities of `tokens` (EOS included where it is the last), all at once."""
    ids = torch.tensor([[*source, EOS]])
    logits = model(ids, torch.ones_like(ids, dtype=torch.bool), torch.tensor([[1, *tokens[:-1]]]))
    return torch.log_softmax(logits, -1)[0].gather(1, torch.tensor(tokens).unsqueeze(1)).sum().item()


def brute_force(model, source, vocabulary, limit, alpha):
    """Every sequence that ends in EOS within the limit, best first: (score, log_prob, tokens)."""
    found = []
    for length in range(limit):
        for tokens in itertools.product(range(3, vocabulary), repeat=length):
            log_prob = sequence_log_prob(model, source, [*tokens, EOS])
            found.append((log_prob / (length + 1) ** alpha, log_prob, tokens))
    return sorted(found, reverse=True)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
def test_a_wide_beam_is_brute_force(toy, alpha):
    vocabulary, limit, n_best = 6, 4, 7
    model = toy(vocabulary, seed=3)
    config = SearchSettings(beams=150, n_best=n_best, length_penalty=alpha, max_tokens=limit)
    for source, found in zip(SOURCES, decode(model, SOURCES, config), strict=True):
        expected = brute_force(model, source, vocabulary, limit, alpha)[:n_best]
        assert [one.tokens for one in found] == [tokens for *_, tokens in expected]
        assert [one.score for one in found] == pytest.approx([score for score, *_ in expected], abs=1e-5)
        assert [one.log_prob for one in found] == pytest.approx([log for _, log, _ in expected], abs=1e-5)
        assert all(one.finished for one in found)


def test_brute_force_needs_the_width(toy):
    """The test above can fail: a narrow beam misses the best sequence of some source."""
    model = toy(6, seed=3)
    sources = [[a, b] for a in range(3, 6) for b in range(3, 6)]
    narrow = decode(model, sources, SearchSettings(beams=2, max_tokens=4))
    best = [brute_force(model, source, 6, 4, 1.0)[0][2] for source in sources]
    assert [found[0].tokens for found in narrow] != best


def slow_beam(model, source, vocabulary, config):
    """The rules of beam.py for one sentence, in plain Python: the obvious version beside the fast one."""

    def score(entry):
        return entry[0] / len(entry[1]) ** config.length_penalty

    ids = torch.tensor([[*source, EOS]])
    live, finished = [(0.0, [])], []
    while live and len(live[0][1]) < config.max_tokens:
        grown = []
        for log_prob, tokens in live:
            logits = model(ids, torch.ones_like(ids, dtype=torch.bool), torch.tensor([[1, *tokens]]))[0, -1]
            log_probs = torch.log_softmax(logits, -1).tolist()
            grown += [(log_prob + log_probs[token], [*tokens, token]) for token in range(2, vocabulary)]
        grown.sort(reverse=True)
        finished += [entry for entry in grown[: config.beams] if entry[1][-1] == EOS]
        live = [entry for entry in grown if entry[1][-1] != EOS][: config.beams]
        returned = sorted(map(score, finished), reverse=True)[: config.n_best]
        if len(finished) >= config.beams and score(live[0]) <= returned[-1]:
            break
        if len(returned) == config.n_best and live[0][0] / config.max_tokens**config.length_penalty <= returned[-1]:
            break
    ranked = sorted(finished, key=score, reverse=True)
    if len(ranked) < config.n_best:
        ranked += sorted(live, key=score, reverse=True)
    return [(tuple(token for token in tokens if token != EOS), log) for log, tokens in ranked[: config.n_best]]


@pytest.mark.parametrize("beams", [2, 3, 5])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_the_fast_beam_is_the_slow_one(toy, beams, alpha):
    sources = [[a, b] for a in range(3, 9) for b in range(3, 9)]
    for n_best, bonus in ((1, 0.0), (2, 1.5)):
        model = toy(9, seed=beams, eos_bonus=bonus)
        config = SearchSettings(beams=beams, n_best=n_best, length_penalty=alpha, max_tokens=6)
        for source, found in zip(sources, decode(model, sources, config), strict=True):
            expected = slow_beam(model, source, 9, config)
            assert [one.tokens for one in found] == [tokens for tokens, _ in expected]
            assert [one.log_prob for one in found] == pytest.approx([log for _, log in expected], abs=1e-5)


def test_improbable_early_ends_do_not_stop_a_search(toy):
    """A sure model with few tokens: five early ends are found before the right one, which a greedy search finds."""
    model = toy(6, seed=1, spread=0.0)
    model.table.data[:, 3] = 9.0  # 3 is the right token at every place …
    model.table.data[:, 2] = 4.0  # … and EOS the next most probable
    prefix, ids = [], torch.tensor([[4, EOS]])
    for _ in range(9):  # … until nine are written: then EOS is certain
        prefix.append(3)
        value = model.step(
            torch.tensor([[1, *prefix]]), model.encode(ids, ids > 0), model.start(model.encode(ids, ids > 0))
        )[1].value
    model.table.data[value, 2] = 20.0
    greedy, beam = (decode(model, [[4]], SearchSettings(beams=beams, max_tokens=20))[0][0] for beams in (1, 5))
    assert len(greedy.tokens) == 9 and beam.tokens == greedy.tokens


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_one_beam_is_greedy(toy, alpha):
    from regard.inference.batching import pad_sources
    from regard.inference.beam import beam_search
    from regard.inference.greedy import greedy_search

    model = toy(11, seed=5, eos_bonus=1.0)
    sources = [[3 + (7 * i + j) % 8 for j in range(1 + i % 5)] for i in range(40)]
    source, mask = pad_sources(sources, torch.device("cpu"))
    first = torch.ones(len(sources), 1, dtype=torch.long)
    limits = torch.tensor([3 + i % 9 for i in range(len(sources))])
    with torch.inference_mode():
        memory = model.encode(source, mask)
        greedy = greedy_search(model, memory, first, limits, alpha)
        beam = beam_search(model, memory, first, limits, SearchSettings(beams=1, length_penalty=alpha))
    assert [[one.tokens for one in found] for found in beam] == [[one.tokens for one in found] for found in greedy]
    for ours, theirs in zip(beam, greedy, strict=True):
        assert ours[0].score == pytest.approx(theirs[0].score, abs=1e-5)
        assert ours[0].finished == theirs[0].finished
    assert {found[0].finished for found in greedy} == {True, False}  # both ways of stopping were met


def test_greedy_takes_the_most_probable_token(toy):
    model = toy(9, seed=1)
    for source, (found,) in zip(SOURCES, decode(model, SOURCES, SearchSettings(beams=1, max_tokens=12)), strict=True):
        tokens = []
        ids = torch.tensor([[*source, EOS]])
        while len(tokens) < 12 and (not tokens or tokens[-1] != EOS):
            logits = model(ids, torch.ones_like(ids, dtype=torch.bool), torch.tensor([[1, *tokens]]))[0, -1]
            tokens.append(3 + int(logits[3:].argmax()) if logits[3:].max() > logits[2] else EOS)
        assert found.tokens == tuple(token for token in tokens if token != EOS)
        assert found.finished == (tokens[-1] == EOS)


@pytest.mark.parametrize("search", [{"beams": 1}, {"beams": 4, "n_best": 3}, {"sample": True, "n_best": 3}])
def test_hypotheses_add_up(toy, search):
    model = toy(13, seed=2, eos_bonus=1.0)
    config = SearchSettings(max_tokens=7, length_penalty=0.7, **search)
    results = decode(model, SOURCES, config)
    for source, found in zip(SOURCES, results, strict=True):
        assert len(found) == config.n_best
        for one in found:
            whole = [*one.tokens, EOS] if one.finished else list(one.tokens)
            assert not {0, 1, 2} & set(one.tokens)
            assert len(whole) <= 7 and (one.finished or len(whole) == 7)
            assert one.log_prob == pytest.approx(sequence_log_prob(model, source, whole), abs=1e-4)
            assert one.log_prob == pytest.approx(sum(one.token_log_probs), abs=1e-6)
            assert len(one.token_log_probs) == len(whole)
            assert one.score == pytest.approx(one.log_prob / len(whole) ** 0.7, abs=1e-6)
        ranks = [(not one.finished, -one.score) for one in found]
        assert ranks == sorted(ranks) or config.sample
        assert len(set(found)) == len(found) or config.sample


def test_pad_and_bos_are_never_generated(toy):
    model = toy(6)
    model.table.data[:, :2] += 50  # the model wants nothing else
    for search in ({"beams": 1}, {"beams": 3, "n_best": 3}, {"sample": True, "n_best": 4}):
        for found in decode(model, SOURCES, SearchSettings(max_tokens=5, **search)):
            assert found and not any({0, 1} & set(one.tokens) for one in found)


def test_finished_sentences_leave_the_batch(toy):
    sources = [[3 + i % 8, 3 + i // 8] for i in range(60)]
    for search, beams in (({"beams": 1}, 1), ({"beams": 3}, 3), ({"sample": True, "n_best": 2}, 2)):
        model = toy(11, eos_bonus=2.0)
        results = decode(model, sources, SearchSettings(max_tokens=40, **search))
        assert model.rows[0] in (60, 60 * beams) and max(model.rows) <= 60 * beams
        assert model.rows[1:] == sorted(model.rows[1:], reverse=True)
        assert model.rows[-1] <= 15 * beams
        if beams == 1:  # a row is there for as many steps as it has tokens, and no longer
            assert sum(model.rows) == sum(len(found[0].token_log_probs) for found in results)


def test_beam_stops_when_nothing_can_improve(toy):
    """alpha = 0: the first finished hypothesis above every live one is the answer; no step is made after it."""
    model = toy(11, seed=4, eos_bonus=9.0)
    (found,) = decode(model, [[3, 4]], SearchSettings(beams=4, length_penalty=0.0, max_tokens=30))
    assert found[0].tokens == () and len(model.rows) == 1


def test_sampling_follows_the_distribution(toy):
    model = toy(7, seed=6, spread=1.0)
    ids = torch.tensor([[3, EOS]])
    logits = model(ids, torch.ones_like(ids, dtype=torch.bool), torch.tensor([[1]]))[0, 0] / 0.8
    logits[:2] = -torch.inf
    expected = torch.softmax(logits, -1)
    config = SearchSettings(sample=True, n_best=4000, max_tokens=1, temperature=0.8)
    counts = Counter(one.tokens[0] if one.tokens else EOS for one in decode(model, [[3]], config)[0])
    for token in range(2, 7):
        assert counts[token] / 4000 == pytest.approx(expected[token].item(), abs=0.03)


def test_top_k_and_top_p():
    log_probs = torch.log(torch.tensor([[0.1, 0.4, 0.2, 0.3]]))
    probabilities, ids = candidates(log_probs, 1.0, top_k=2, top_p=1.0)
    assert ids.tolist() == [[1, 3]] and probabilities[0].tolist() == pytest.approx([4 / 7, 3 / 7])
    probabilities, ids = candidates(log_probs, 1.0, top_k=0, top_p=0.65)
    assert ids[probabilities > 0].tolist() == [1, 3]  # 0.4 does not reach 0.65, 0.4 + 0.3 does
    probabilities, ids = candidates(log_probs, 1.0, top_k=0, top_p=1e-6)
    assert ids[probabilities > 0].tolist() == [1]  # never none
    peaked, flat = torch.full((1000,), -20.0), torch.zeros(1000)
    peaked[7], peaked[3] = 0.0, -0.5
    both = torch.log_softmax(torch.stack([peaked, flat]), -1)  # 900 tokens of the flat one are needed, 2 of the other
    probabilities, ids = candidates(both, 1.0, top_k=0, top_p=0.9)
    assert ids[0][probabilities[0] > 0].tolist() == [7, 3] and (probabilities[1] > 0).sum() in (900, 901)
    alone, few = candidates(both[:1], 1.0, top_k=0, top_p=0.9)
    assert few.shape[1] < 1000 and torch.equal(alone[0, :9], probabilities[0, :9])
    uniform = torch.tensor([0.0, 0.0999, 0.1001, 0.4999, 0.5001, 1.0])
    places = quantile(torch.tensor([[0.1, 0.4, 0.5, 0.0]]).double().expand(6, -1), uniform.double())
    assert places.tolist() == [0, 0, 1, 1, 2, 2]
    assert quantile(torch.tensor([[0.0, 1.0]]), torch.zeros(1)).tolist() == [
        1
    ]  # what has no probability is never drawn


def test_samples_do_not_depend_on_the_batch(toy):
    model = toy(13, seed=8, eos_bonus=-1.0)
    config = SearchSettings(sample=True, n_best=2, max_tokens=9, seed=4)

    def texts(sources: list[list[int]], settings: SearchSettings) -> list[list[Hypothesis]]:
        return [[one.tokens for one in found] for found in decode(model, sources, settings)]

    together = texts(SOURCES, config)
    assert together == [texts([source], config)[0] for source in SOURCES]
    assert together == texts(SOURCES[::-1], config)[::-1]
    assert together == texts(SOURCES, config.model_copy(update={"batch_tokens": 8}))
    assert together != texts(SOURCES, config.model_copy(update={"seed": 5}))
    assert all(first != second for first, second in together)
    more = texts(SOURCES, config.model_copy(update={"n_best": 4}))
    assert all(set(few) <= set(many) for few, many in zip(together, more, strict=True))
