"""Dictionaries are what they say, and a dictionary that is set by hand finds every key."""

from __future__ import annotations

import torch

from regard.apps.lessons.retrieval import KEYS, VALUES, WIDTH, Dictionary, Lookup, _query, draw


def test_keys_of_a_dictionary_differ_and_the_answer_is_beside_the_key() -> None:
    lookup = draw(7, 5, torch.Generator().manual_seed(1))
    assert lookup.keys.shape == lookup.values.shape == (7, 5)
    for row in range(7):
        entries = dict(zip(lookup.keys[row].tolist(), lookup.values[row].tolist(), strict=True))
        assert len(entries) == 5 and entries[int(lookup.query[row])] == int(lookup.answer[row])
    assert lookup.keys.max() < KEYS and lookup.values.max() < VALUES


def test_attention_set_by_hand_is_an_exact_lookup() -> None:
    """Keys that are orthogonal and a sharp softmax: all the weight is on the key of the query."""
    model = Dictionary(attends=True)
    assert model.attention is not None
    with torch.no_grad():
        model.value_table.weight.zero_()
        model.key_table.weight[:WIDTH] = 30 * torch.eye(WIDTH)
        model.attention.query_proj.weight.copy_(torch.eye(WIDTH))
        model.attention.key_proj.weight.copy_(torch.eye(WIDTH))
    lookup = Lookup(torch.tensor([[3, 1, 2], [4, 6, 5]]), torch.zeros(2, 3, dtype=torch.long), torch.tensor([2, 1]))
    logits, weights = _query(model, lookup)
    assert logits.shape == (2, VALUES) and weights is not None
    torch.testing.assert_close(weights, torch.eye(3)[[2, 1]])


def test_without_attention_there_are_no_weights_and_order_does_not_matter() -> None:
    model = Dictionary(attends=False)
    lookup = draw(4, 6, torch.Generator().manual_seed(2))
    logits, weights = _query(model, lookup)
    assert weights is None
    reversed_ = Lookup(lookup.keys.flip(1), lookup.values.flip(1), 5 - lookup.index)
    torch.testing.assert_close(_query(model, reversed_)[0], logits)
