"""Open settings are chosen by the corpus; set ones are kept."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from regard.config import Plan, TokenizerSettings, settle
from regard.data.corpus import Corpus, Example, load_corpus
from regard.experiment import resolve
from regard.experiment.banner import choices
from regard.experiment.corpus_statistics import measure_text

WORDS = ["the", "green", "house", "stands", "behind", "an", "old", "tree", "where", "nobody", "ever", "looks"]
MOTS = ["la", "maison", "verte", "est", "derrière", "un", "vieil", "arbre", "où", "personne", "ne", "regarde"]


def corpus(pairs: int, words: int, target_words: list[str] = MOTS) -> Corpus:
    """A user's own text: sentences of so many words, all of them different."""
    draw = random.Random(1)
    some = [
        Example(" ".join(draw.choices(WORDS, k=words)), " ".join(draw.choices(target_words, k=words)))
        for _ in range(100)
    ]
    train = [Example(f"{one.source} {place}", one.target) for place in range(pairs // 100) for one in some]
    return own(train)


def own(train: list[Example]) -> Corpus:
    suggested = TokenizerSettings(kind="bpe", size=4000, shared=True)
    return Corpus("own", train, train[:5], train[:5], [], (), "translation", suggested, "transformer")


def chosen(corpus: Corpus, **sections: dict[str, Any]) -> Plan:
    return resolve(settle({"data": {"pairs": "own.tsv"}, **sections}), corpus)


def test_nothing_is_left_open_and_nothing_set_is_changed() -> None:
    config = chosen(corpus(3000, 10))
    open_still = [key for key, value in config.training if value is None]
    assert open_still == ["epochs", "minutes", "init_from", "threads", "processes"]
    assert config.tokenizer.kinds == ("bpe", "bpe") and config.model.dropout is not None
    given = {
        "tokenizer": {"kind": "unigram", "size": 777, "shared": False},
        "model": {"preset": "transformer", "dropout": 0.0},
        "training": {"epochs": 2.5, "batch_tokens": 999, "rate": 0.01, "warmup_steps": 0, "label_smoothing": 0.0}
        | {"evaluate_every": 7, "metric": "bleu", "patience": 99},
    }
    config = chosen(corpus(3000, 10), **given)
    for section, fields in given.items():
        assert {key: getattr(getattr(config, section), key) for key in fields} == fields
    assert config.training.steps is None  # epochs were asked for


def test_short_strings_are_spelled_and_sentences_are_not() -> None:
    assert chosen(corpus(3000, 2)).tokenizer.kind == "character"
    assert chosen(corpus(3000, 2)).training.metric == "exact"
    long = chosen(corpus(3000, 12))
    assert (long.tokenizer.kind, long.training.metric, long.training.label_smoothing) == ("bpe", "chrf", 0.1)


def spelt(count: int = 1500) -> list[Example]:
    """Words and their sounds, a symbol each."""
    draw = random.Random(2)
    words = ["".join(draw.choices("aeiklmnorst", k=draw.randrange(4, 9))) for _ in range(count)]
    return [Example(word, " ".join(f"{letter.upper()}1" for letter in word)) for word in words]


def test_each_side_has_the_tokenizer_that_suits_it() -> None:
    pronunciation = chosen(own(spelt())).tokenizer
    assert pronunciation.kinds == ("character", "symbol") and not pronunciation.shared
    draw = random.Random(1)
    tagged = [
        Example(f"{pair.source} V;{draw.choice(['PST', 'PRS'])};{draw.choice('123')}", f"{pair.source}ed")
        for pair in spelt()
    ]
    assert chosen(own(tagged)).tokenizer.kinds == ("symbol", "character")
    syllables = [chr(0xAC00 + draw.randrange(11172)) for _ in range(500)]
    hangul = [Example("".join(draw.choices(syllables, k=3)), "".join(draw.choices("abk", k=4))) for _ in range(400)]
    assert chosen(own(hangul)).tokenizer.kinds == ("decomposed", "character")
    chinese = [Example("".join(draw.choices("一二三四五六七八九十百千", k=5)), f"{place}") for place in range(400)]
    assert chosen(own(chinese)).tokenizer.kinds == ("character", "character")
    assert chosen(own(spelt()), tokenizer={"kind": "bpe"}).tokenizer.kinds == ("bpe", "bpe")
    assert chosen(own(spelt()), tokenizer={"target_kind": "bpe"}).tokenizer.kinds == ("character", "bpe")
    assert chosen(own(spelt()), model={"preset": "transformer-language"}).tokenizer.kinds == ("character", "character")
    assert chosen(own(spelt()), model={"preset": "lstm-classifier"}).tokenizer.kinds[0] == "character"


def test_short_strings_of_ones_own_are_no_rules_and_classes_no_sentences() -> None:
    lstm = chosen(own(spelt()))
    assert (lstm.model.preset, lstm.model.width, lstm.model.dropout) == ("lstm-additive", 256, 0.3)
    assert (lstm.training.batch_tokens, lstm.training.label_smoothing, lstm.training.optimizer) == (1024, 0.1, "adam")
    assert chosen(own(spelt()), model={"encoder": "rnn"}).model.preset is None, "what was named stays"
    own_pairs = chosen(own(spelt()), model={"preset": "transformer"})
    assert (own_pairs.model.dropout, own_pairs.model.ffn_dropout) == (0.3, 0.3)
    training = own_pairs.training
    assert (training.batch_tokens, training.label_smoothing, training.average) == (2048, 0.1, 5)
    assert (training.optimizer, training.schedule, training.rate) == ("muon", "cosine", 6e-3)
    assert training.weight_decay == 0.0
    embedded = resolve(settle({"data": {"corpus": "reverse"}, "model": {"preset": "transformer"}}), own(spelt()))
    assert (embedded.model.dropout, embedded.training.label_smoothing, embedded.training.optimizer) == (
        0.1,
        0.0,
        "adam",
    )
    pieces = chosen(own(spelt()), tokenizer={"kind": "bpe"})
    assert pieces.training.label_smoothing == 0.0, "what is cut into pieces is not spelt"
    classifier = chosen(own(spelt()), model={"preset": "lstm-classifier"})
    assert (classifier.model.dropout, classifier.training.label_smoothing) == (0.0, 0.0)


def test_captions_of_words_seen_once_are_put_together_of_pieces() -> None:
    once = [Example(f"{place}.png", f"thing{place} here") for place in range(40)]
    often = [Example(f"{place}.png", f"thing{place % 3} here") for place in range(40)]
    for train, kind in ((once, "bpe"), (often, "word")):
        captions = replace(own(train), task="captioning", images=Path(), tokenizer=TokenizerSettings())
        lstm, transformer = (
            chosen(captions, model={"preset": f"image-{name}"}) for name in ("lstm", "grid-transformer")
        )
        assert lstm.tokenizer.kind == transformer.tokenizer.kind == kind
        assert (lstm.training.optimizer, transformer.training.optimizer) == ("adam", "muon")
        assert lstm.training.schedule == transformer.training.schedule == "cosine"
        assert chosen(captions, model={"preset": "image-grid-transformer", "width": 64}).training.rate == 5.9e-3


def test_a_run_says_what_it_chose_and_why() -> None:
    lines = choices(chosen(own(spelt()), model={"dropout": 0.25}))
    assert len(lines) == 3 and lines[0].startswith("chosen, tokens: source_kind character (short strings, ")
    assert "kind symbol (11 symbols parted by spaces)" in lines[0] and "shared no" in lines[0]
    assert "preset lstm-additive (strings: " in lines[1] and "width 256" in lines[1] and "dropout" not in lines[1], (
        "what was set is not chosen"
    )
    assert "metric exact" in lines[2]


def test_dropout_falls_and_batches_grow_with_the_corpus() -> None:
    configs = [chosen(corpus(pairs, 8)) for pairs in (500, 5000, 15_000, 100_000)]
    dropouts = [config.model.dropout for config in configs]
    assert dropouts == sorted(dropouts, reverse=True) and dropouts[0] > dropouts[-1]
    batches = [config.training.batch_tokens for config in configs]
    assert batches == sorted(batches) and batches[0] < batches[-1] <= 2048


@pytest.mark.parametrize(
    ("characters", "size"),
    [(119_920, 1000), (120_000, 2000), (479_920, 2000), (480_000, 4000), (1_199_920, 4000), (1_200_000, 8000)],
)
def test_pieces_are_as_many_as_there_is_text_for(characters: int, size: int) -> None:
    """Not as many as there are lines: half of them, twice as long, tell as much."""
    for length in (40, 80):
        lines = [f"{place:06d}".ljust(length, "x") for place in range(characters // length)]
        train = [Example(line, line[::-1]) for line in lines]
        assert chosen(own(train)).tokenizer.size == size
        assert chosen(own(train), tokenizer={"kind": "word"}).tokenizer.size == 2 * size


def test_a_second_target_for_a_source_is_not_more_to_learn_from() -> None:
    """As `train --distill` makes them: the student is to be like its teacher, only read more."""
    once, again = corpus(9900, 10), corpus(9900, 10, WORDS)
    twice = own([*once.train, *again.train])
    teacher, student = chosen(once), chosen(twice)
    assert student.tokenizer.size == teacher.tokenizer.size == 4000
    assert student.model.dropout == teacher.model.dropout == 0.3
    assert student.training.batch_tokens == 2 * teacher.training.batch_tokens, "but there is more to read"


def test_a_long_run_has_two_microbatches_unless_threads_are_counted() -> None:
    long, preset = corpus(50_000, 12), {"model": {"preset": "transformer"}}
    assert chosen(long, **preset).training.microbatches == 2
    assert chosen(long, **preset, training={"threads": 2}).training.microbatches == 1
    assert chosen(long, **preset, training={"processes": 3}).training.microbatches == 3
    assert chosen(long, **preset, training={"steps": 50}).training.microbatches == 1
    assert chosen(corpus(1000, 2), **preset).training.microbatches == 1


def test_text_is_learned_with_muon_and_a_cosine_where_they_were_found_better() -> None:
    text, strings = corpus(3000, 12), corpus(3000, 2)
    transformer, lstm = {"model": {"preset": "transformer"}}, {"model": {"preset": "lstm-additive"}}
    for each, preset, limit, expected in (
        (text, transformer, {}, ("muon", "cosine")),
        (text, transformer, {"epochs": 3}, ("muon", "cosine")),
        (text, transformer, {"minutes": 3}, ("muon", "inverse-sqrt")),  # nobody knows where the cosine would end
        (text, transformer, {"minutes": 3, "steps": 9999}, ("muon", "inverse-sqrt")),
        (text, transformer, {"optimizer": "adam", "schedule": "constant"}, ("adam", "constant")),
        (text, lstm, {}, ("adam", "cosine")),
        (strings, transformer, {}, ("muon", "cosine")),
        (strings, lstm, {}, ("adam", "cosine")),
        (strings, {"model": {"preset": "transformer-language"}}, {}, ("adam", "inverse-sqrt")),
    ):
        training = chosen(each, **preset, training=limit).training
        assert (training.optimizer, training.schedule) == expected
    rates = [chosen(text, model={"preset": "transformer", "width": width}).training.rate for width in (64, 128, 512)]
    assert rates == sorted(set(rates), reverse=True)
    rates = [chosen(text, **transformer, training={"batch_tokens": size}).training.rate for size in (4096, 2048)]
    assert rates == [8.5e-3, 6e-3]  # noisier gradients, smaller steps


def test_muon_steps_are_small_beside_adams_and_sentences_keep_all_of_the_inner_layer() -> None:
    text, strings = corpus(3000, 12), corpus(3000, 2)
    transformer, lstm = {"model": {"preset": "transformer"}}, {"model": {"preset": "lstm-additive"}}
    sizes = [chosen(each, **preset).training.muon_size for each, preset in ((text, transformer), (text, lstm))]
    assert sizes == [0.1, 0.1]
    assert chosen(text, **lstm, training={"optimizer": "muon"}).training.muon_size == 0.1
    assert chosen(text, **transformer, training={"muon_size": 0.4}).training.muon_size == 0.4
    assert chosen(text, **transformer).model.ffn_dropout == 0.0
    exact = chosen(strings, **transformer).model
    assert exact.ffn_dropout == exact.dropout == 0.3
    assert chosen(text, **lstm).model.ffn_dropout is None  # it has no such layers
    assert chosen(text, model={"preset": "transformer", "ffn_dropout": 0.2}).model.ffn_dropout == 0.2


def test_sentences_are_told_apart_by_turns_where_a_transformer_can_have_them() -> None:
    text, strings = corpus(3000, 12), corpus(3000, 2)
    for each, fields, expected in (
        (text, {"preset": "transformer"}, "rotary"),
        (text, {"preset": "transformer-deep-shallow"}, "rotary"),
        (strings, {"preset": "transformer"}, "sinusoidal"),
        (text, {"preset": "transformer", "positions": "sinusoidal"}, "sinusoidal"),
        (text, {"preset": "transformer", "width": 12}, "sinusoidal"),  # heads of three numbers have no pairs
        (text, {"preset": "transformer", "position_combine": "concatenate"}, "sinusoidal"),
        (text, {"preset": "attention-rnn"}, "none"),
        (text, {"preset": "convolution"}, "learned"),
        (text, {"preset": "lstm-additive"}, "sinusoidal"),  # it asks for none
    ):
        assert chosen(each, model=fields).model.positions == expected, fields


def test_sentences_are_asked_for_with_the_last_token_too() -> None:
    text, strings = corpus(3000, 12), corpus(3000, 2)
    for each, fields, expected in (
        (text, {"preset": "lstm-additive"}, "state-and-token"),
        (text, {"preset": "lstm-dot"}, "state-and-token"),
        (text, {"preset": "attention-rnn"}, "state-and-token"),
        (text, {"preset": "lstm-additive", "query": "state"}, "state"),
        (strings, {"preset": "lstm-additive"}, "state"),
        (text, {"preset": "lstm-fixed"}, "state"),  # nothing asks
        (text, {"preset": "transformer"}, "state"),
        (text, {"preset": "rnn-language"}, "state"),
    ):
        assert chosen(each, model=fields).model.query == expected, fields


def test_sentences_fade_in_as_many_passes_however_many_there_are() -> None:
    strings = corpus(3000, 2)
    for preset in ("transformer", "lstm-additive"):
        model = {"preset": preset, "width": 128}
        few, many, most = (chosen(corpus(pairs, 12), model=model).training for pairs in (1000, 30_000, 60_000))
        assert few.weight_decay == 0.3 > many.weight_decay > most.weight_decay > 0
        assert many.weight_decay == pytest.approx(2 * most.weight_decay, rel=0.05)
        slower = chosen(corpus(30_000, 12), model=model, training={"rate": many.rate / 2}).training
        assert slower.weight_decay == pytest.approx(min(2 * many.weight_decay, 0.3), rel=0.05)
        set_by_hand = chosen(corpus(30_000, 12), model=model, training={"weight_decay": 0.0}).training
        assert set_by_hand.weight_decay == chosen(strings, model=model).training.weight_decay == 0.0


def test_one_vocabulary_where_both_sides_share_an_alphabet() -> None:
    assert chosen(corpus(500, 8)).tokenizer.shared is True
    assert chosen(corpus(500, 8, ["夜", "家", "木"])).tokenizer.shared is False
    language = chosen(corpus(500, 8, ["夜", "家", "木"]), model={"preset": "transformer-language"})
    assert language.tokenizer.shared is True
    classifier = chosen(corpus(500, 8), model={"preset": "lstm-classifier"})
    assert (classifier.tokenizer.shared, classifier.training.metric) == (False, "accuracy")
    assert measure_text([Example("ab", "bc")]).overlap == 0.5


def test_the_corpus_names_the_architecture_where_the_user_does_not() -> None:
    config = chosen(corpus(500, 8), model={"width": 48})
    assert (config.model.preset, config.model.depth, config.model.width) == ("transformer", 3, 48)
    assert chosen(corpus(500, 8), model={"encoder": "rnn"}).model.preset is None


@pytest.mark.parametrize("name", ["dates", "languages"])
def test_an_embedded_corpus_says_what_suits_it(name: str) -> None:
    config = settle({"data": {"corpus": name, "examples": 200}})
    loaded = load_corpus(config.data)
    config = resolve(config, loaded)
    assert config.tokenizer.kind == loaded.tokenizer.kind and config.model.preset == loaded.model
