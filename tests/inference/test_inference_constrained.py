"""Constrained search: what it finds holds all that is demanded, and is the best of all that do."""

from itertools import product

import numpy as np
import pytest
import torch

from regard.config import SearchSettings
from regard.data.vocabulary import BOS, EOS
from regard.inference.batching import TooLong
from regard.inference.constrained import constrained_decode
from regard.inference.constraints import ConstraintProgress, Constraints, Phrase, allowed
from regard.inference.hypothesis import Hypothesis, next_log_probs

VOCABULARY, LIMIT = 8, 5
A, B, C, D, E = 3, 4, 5, 6, 7
CASES = {
    "a symbol": Constraints(symbols=frozenset({D})),
    "two symbols": Constraints(symbols=frozenset({D, E})),
    "a tag pair": Constraints(symbols=frozenset({D, E}), closes={E: D}),
    "a symbol, and one that the source lacks": Constraints(symbols=frozenset({D}), unknown=frozenset({E})),
    "a phrase": Constraints(phrases=(Phrase(((A, B),)),)),
    "a phrase in two spellings": Constraints(phrases=(Phrase(((A, B), (C, C))),)),
    "a phrase that begins with a token twice": Constraints(phrases=(Phrase(((A, A, B),)),)),
    "a symbol and a phrase": Constraints(symbols=frozenset({E}), phrases=(Phrase(((A, B),)),)),
}


def found(model, constraints: Constraints, source=(3, 4), **search) -> list[Hypothesis]:
    config = SearchSettings(**{"beams": 32, "max_tokens": LIMIT, "length_penalty": 0.0, **search})
    [result] = constrained_decode(model, [list(source)], [constraints], config)
    assert not isinstance(result, TooLong)
    return result


def holds(tokens: tuple[int, ...], constraints: Constraints) -> bool:
    """By the plain definition."""
    if any(tokens.count(symbol) != 1 for symbol in constraints.symbols) or set(tokens) & constraints.unknown:
        return False
    if any(tokens.index(closing) < tokens.index(opening) for closing, opening in constraints.closes.items()):
        return False
    return all(
        any(tokens[at : at + len(s)] == s for s in phrase.spellings for at in range(len(tokens)))
        for phrase in constraints.phrases
    )


def brute_force(model, constraints: Constraints, source=(3, 4)) -> tuple[float, tuple[int, ...]]:
    """The most probable of all sequences that hold what is demanded, by one forward pass each."""
    best = (-np.inf, ())
    ids, mask = torch.tensor([[*source, EOS]]), torch.ones(1, len(source) + 1, dtype=torch.bool)
    for length in range(LIMIT):
        rows = [row for row in product(range(3, VOCABULARY), repeat=length) if holds(row, constraints)]
        if not rows:
            continue
        target = torch.tensor([[BOS, *row] for row in rows])
        with torch.inference_mode():
            logits = model(ids.expand(len(rows), -1), mask.expand(len(rows), -1), target)
        scores = torch.stack([next_log_probs(logits[:, : t + 1]) for t in range(length + 1)], 1)
        wanted = torch.tensor([[*row, EOS] for row in rows])
        totals = scores.gather(2, wanted[:, :, None]).sum((1, 2))
        at = int(totals.argmax())
        best = max(best, (float(totals[at]), rows[at]))
    return best


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_it_finds_the_best_of_all_that_hold_what_is_demanded(case: str, seed: int, toy):
    model = toy(VOCABULARY, seed)
    total, tokens = brute_force(model, CASES[case])
    best = found(model, CASES[case])[0]
    assert holds(best.tokens, CASES[case]) and best.finished
    assert best.tokens == tokens
    assert best.log_prob == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize("case", CASES)
def test_a_narrow_beam_keeps_every_promise_too(case: str, toy):
    model = toy(VOCABULARY, 5, eos_bonus=2.0)
    for source in ((3,), (4, 5), (6, 6, 6)):
        results = found(model, CASES[case], source, beams=2, n_best=2, max_tokens=30)
        assert len(results) == 2 and all(holds(result.tokens, CASES[case]) for result in results)
        assert results[0].score >= results[1].score


def test_nothing_is_found_where_the_limit_is_too_short(toy):
    constraints = Constraints(phrases=(Phrase(((A, B, A, B, A, B),)),))
    assert found(toy(VOCABULARY, 1), constraints) == []


def test_tags_close_in_the_order_in_which_they_nest():
    wanted = Constraints(symbols=frozenset({A, B, C, D}), closes={B: A, D: C})
    assert wanted.holds_symbols((A, E, C, D, B)) and wanted.holds_symbols((C, D, A, B))
    assert not wanted.holds_symbols((A, C, B, D))
    assert not wanted.holds_symbols((B, A, C, D))
    assert not wanted.holds_symbols((A, B, C))
    assert not wanted.holds_symbols((A, B, C, D, A))


def test_after_a_phrase_its_last_word_does_not_go_on():
    goes_on = np.arange(VOCABULARY) == C
    wanted = Constraints(phrases=(Phrase(((A,),)),), word_goes_on=goes_on)
    after = ConstraintProgress().begin(0, (A,), wanted)
    assert after.met == {0} and after.ending
    scores = allowed(np.zeros(VOCABULARY, dtype=np.float32), after, wanted)
    assert scores[C] == -np.inf and scores[D] == 0 and scores[EOS] == 0
    assert allowed(np.zeros(VOCABULARY), after.after(D, wanted), wanted)[C] == 0


def test_a_glued_spelling_needs_a_place_where_no_word_goes_on(toy):
    wanted = Constraints(phrases=(Phrase(((A, B),), glued=((B,),)),), word_ends=np.arange(VOCABULARY) == E)
    for seed in range(4):
        tokens = found(toy(VOCABULARY, seed), wanted)[0].tokens
        at = [i for i, token in enumerate(tokens) if token == B]
        assert any(i == 0 or tokens[i - 1] in (A, E) for i in at)


def test_a_source_beyond_the_positions_is_told(tiny):
    model = tiny("transformer", positions="learned", max_positions=4)
    [result] = constrained_decode(model, [[3] * 9], [CASES["a symbol"]], SearchSettings())
    assert isinstance(result, TooLong)


@pytest.mark.parametrize("preset", ["transformer", "lstm-additive", "convolution"])
def test_every_family_decodes_with_constraints(preset: str, tiny):
    results = constrained_decode(
        tiny(preset), [[3, 4, 5], [6]], [CASES["a tag pair"]] * 2, SearchSettings(beams=3, max_tokens=30)
    )
    assert all(not isinstance(result, TooLong) and holds(result[0].tokens, CASES["a tag pair"]) for result in results)
