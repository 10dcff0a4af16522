"""Training the vocabulary of each kind of tokenizer. Ids: 3 specials, 256 bytes (or byte letters), then the pieces."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tokenizers
from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers

from regard.data.inventory import SYMBOL, find_symbols, split_symbols

# Plain entries of the vocabulary: not registered as special with the library, so that text which spells them is text.
SPECIALS = ("<pad>", "<s>", "</s>")
PAD, BOS, EOS = 0, 1, 2
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
# A word keeps the space before it. Numbers, each punctuation mark and each Chinese or Japanese character stand alone.
IDEOGRAPH = r"[\p{Han}\p{Hiragana}\p{Katakana}]"
WORD = rf" ?\p{{N}}+| ?{IDEOGRAPH}| ?(?:(?!{IDEOGRAPH})[\p{{L}}\p{{M}}])+| ?[^\s\p{{L}}\p{{M}}\p{{N}}]|\s"
# A word seen once teaches its letters instead, so that spelling an unknown word is learnt too.
WORD_AT_LEAST = 2


@dataclass(frozen=True)
class VocabularyModel:
    engine: models.Model
    splitter: pre_tokenizers.PreTokenizer | None
    normalizer: normalizers.Normalizer | None = None


def character_model(texts: Iterable[str], size: int) -> VocabularyModel:
    """One token a character; rarer ones than fit are spelled in bytes."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    return VocabularyModel(models.BPE(vocab=_table(_frequent(counts), size), merges=[], byte_fallback=True), None)


def word_model(texts: Iterable[str], size: int) -> VocabularyModel:
    """Frequent words whole, other words by their characters (then bytes): BPE that looks a word up and never merges."""
    splitter = pre_tokenizers.Split(Regex(WORD), behavior="isolated")
    words: Counter[str] = Counter()
    for text in texts:
        words.update(piece for piece, _ in splitter.pre_tokenize_str(text))
    characters: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    # Characters may take half of the room, so that words always get some.
    room = max(0, (size - len(SPECIALS) - len(BYTES)) // 2)
    often = [word for word in _frequent(words) if words[word] >= WORD_AT_LEAST]
    vocabulary = _table([*_frequent(characters)[:room], *often], size)
    engine = models.BPE(vocab=vocabulary, merges=[], byte_fallback=True, ignore_merges=True)
    return VocabularyModel(engine, splitter)


def symbol_model(texts: Sequence[str], size: int) -> VocabularyModel:
    """Symbols parted by spaces whole, other pieces by their characters (then bytes).

    Each symbol has the space before it, the first one, too: so a symbol is the same token wherever it stands.
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(split_symbols(text))
    symbols, tags = find_symbols(texts)
    if not tags:  # of tags, the words beside them are to be spelt
        symbols = frozenset(piece for piece, times in counts.items() if times >= WORD_AT_LEAST)
    characters: Counter[str] = Counter()
    for piece, count in counts.items():
        for character in piece:
            characters[character] += count
    spelt = {character for piece in counts.keys() - symbols for character in piece}
    whole = Counter({piece: counts[piece] for piece in symbols})
    # characters that only symbols are made of come last: they spell what training never had
    order = [*_frequent(whole), *(c for c in _frequent(characters) if c in spelt)]
    vocabulary = _table([*order, *_frequent(characters)], size)
    engine = models.BPE(vocab=vocabulary, merges=[], byte_fallback=True, ignore_merges=True)
    return VocabularyModel(engine, pre_tokenizers.Split(Regex(SYMBOL), behavior="isolated"), normalizers.Prepend(" "))


def bpe_model(texts: Iterable[str], size: int) -> VocabularyModel:
    """Byte-level byte pair encoding (Sennrich 2016; Radford 2019)."""
    options = {"vocab_size": size - len(SPECIALS), "initial_alphabet": _byte_letters(), "show_progress": False}
    trained, splitter = _trained(models.BPE(), trainers.BpeTrainer(**options), texts)
    pieces = sorted(trained["vocab"], key=trained["vocab"].__getitem__)
    vocabulary = {piece: i for i, piece in enumerate([*SPECIALS, *pieces])}
    merges = [tuple(merge) for merge in trained["merges"]]
    return VocabularyModel(models.BPE(vocab=vocabulary, merges=merges), splitter)


def unigram_model(texts: Iterable[str], size: int) -> VocabularyModel:
    """The unigram language model (Kudo 2018) over bytes: the most probable segmentation of each word."""
    options = {"vocab_size": size - len(SPECIALS), "initial_alphabet": _byte_letters(), "show_progress": False}
    trained, splitter = _trained(models.Unigram(), trainers.UnigramTrainer(**options), texts)
    scores = _settled({piece: score for piece, score in trained["vocab"] if score is not None})
    specials = [(special, 10 * min(scores.values())) for special in SPECIALS]
    pieces = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return VocabularyModel(models.Unigram([*specials, *pieces], unk_id=None, byte_fallback=False), splitter)


def _trained(
    model: models.Model, trainer: trainers.Trainer, texts: Iterable[str]
) -> tuple[dict[str, Any], pre_tokenizers.PreTokenizer]:
    """The trained model of bytes as a tree, and what splits the texts into words."""
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    engine = tokenizers.Tokenizer(model)
    engine.pre_tokenizer = splitter
    engine.train_from_iterator(texts, trainer)
    return json.loads(engine.to_str())["model"], splitter


def _settled(trained: dict[str, float]) -> dict[str, float]:
    """Scores that are the same in every process.

    The library sums in the order of a hash table seeded by chance (a difference of 1e-15), and gives bytes that it
    never saw scores 0.0001 apart, in that order. So: round, and give all of the latter the lowest score.
    """
    finite = {piece: score for piece, score in trained.items() if math.isfinite(score)}
    lowest = round(min(finite.values(), default=-10.0), 6)
    unseen = lowest + 0.0001 * (len(BYTES) + 1)
    scores = dict.fromkeys(_byte_letters(), lowest)
    for piece, score in finite.items():
        scores[piece] = lowest if len(piece) == 1 and score < unseen else round(score, 6)
    return scores


def _table(pieces: Iterable[str], size: int) -> dict[str, int]:
    table = {piece: i for i, piece in enumerate([*SPECIALS, *BYTES])}
    for piece in pieces:
        if len(table) >= size:
            break
        table.setdefault(piece, len(table))
    return table


def _frequent(counts: Counter[str]) -> list[str]:
    """Most frequent first; ties in the order of the alphabet, so that it does not depend on the order of the texts."""
    return sorted(counts, key=lambda piece: (-counts[piece], piece))


def _byte_letters() -> list[str]:
    return sorted(pre_tokenizers.ByteLevel.alphabet())
