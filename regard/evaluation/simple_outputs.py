"""Outputs of baselines that learn nothing but a table: what a model must beat to have learned its task.

most frequent       the most frequent target of the training pairs
copy                the source itself
nearest neighbour   the target of the training source that is most alike: the cosine of counts of 1- to 3-grams of
                    characters, or the distance of images of 16 × 16 pixels
word for word       each source word by its likeliest target word (Model 1 of Brown 1993), in the source's order
most frequent tag   each word's most frequent tag; an unknown word's is the most frequent of all
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from regard.data.examples import Corpus, Example
from regard.data.image_codec import read_view
from regard.data.images import Unreadable
from regard.data.lexicon import learn_lexicon
from regard.data.token_store import TokenStore
from regard.data.vocabulary import EOS, SPECIALS
from regard.data.whole_words import words_of

NGRAMS, FEATURES = (1, 2, 3), 2048  # characters counted together; columns that they are hashed into
NEIGHBOURS = 10_000  # training sources looked at
PIXELS = 16


def simple_outputs(corpus: Corpus, task: str, examples: Sequence[Example]) -> dict[str, list[str]]:
    """The outputs of each baseline that suits the task, for the sources of these examples."""
    train, sources = corpus.train, [example.source for example in examples]
    if task == "tagging":
        return {"most frequent tag": frequent_tags(train, sources)}
    frequent = Counter(example.target for example in train).most_common(1)[0][0]
    outputs = {"most frequent": [frequent] * len(sources)}
    some = train[:: -(-len(train) // NEIGHBOURS)]
    cut = "" if len(some) == len(train) else f" in {len(some):,} pairs"
    if corpus.images is None:
        near = nearest_texts([example.source for example in some], sources)
    else:
        near = nearest_images([example.source for example in some], sources, corpus.images)
    outputs[f"nearest neighbour{cut}"] = [some[index].target for index in near]
    if task == "translation":
        outputs |= {"copy": sources, "word for word": word_for_word(train, sources)}
    return outputs


def frequent_tags(train: Sequence[Example], sources: Sequence[str]) -> list[str]:
    counts: dict[str, Counter[str]] = {}
    overall: Counter[str] = Counter()
    for example in train:
        tags = words_of(example.target)
        overall.update(tags)
        for word, tag in zip(words_of(example.source), tags, strict=False):
            counts.setdefault(word, Counter())[tag] += 1
    table = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
    unknown = overall.most_common(1)[0][0]
    return [" ".join(table.get(word, unknown) for word in words_of(source)) for source in sources]


def nearest_texts(train: Sequence[str], sources: Sequence[str]) -> list[int]:
    """For each source the index of the training text whose n-grams are most alike; of equals the first."""
    known = _ngram_counts(train)
    return [int((row @ known.T).argmax()) for row in _ngram_counts(sources)]


def _ngram_counts(texts: Sequence[str]) -> np.ndarray:
    """Rows of length one: (texts, FEATURES)."""
    counts = np.zeros((len(texts), FEATURES), np.float32)
    for row, text in enumerate(texts):
        padded = f" {text} "
        grams = [padded[i : i + n] for n in NGRAMS for i in range(len(padded) - n + 1)]
        np.add.at(counts[row], [zlib.crc32(gram.encode()) % FEATURES for gram in grams], 1.0)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True).clip(1e-9)


def nearest_images(train: Sequence[str], sources: Sequence[str], folder: Path) -> list[int]:
    """For each image the index of the training image at the least distance; one that cannot be read is grey."""
    known = _thumbnails(train, folder)
    return [int(((known - row) ** 2).sum(1).argmin()) for row in _thumbnails(sources, folder)]


def _thumbnails(references: Sequence[str], folder: Path) -> np.ndarray:
    rows = np.full((len(references), PIXELS * PIXELS * 3), 0.5, np.float32)
    for row, reference in enumerate(references):
        view = read_view(reference, PIXELS, folder)
        if not isinstance(view, Unreadable):
            rows[row] = view.reshape(-1) / 255
    return rows


def word_for_word(train: Sequence[Example], sources: Sequence[str]) -> list[str]:
    """Words, or characters where no text has a space. A word that was never seen is copied."""
    spaced = any(" " in example.source for example in train) and any(" " in example.target for example in train)
    split: Callable[[str], list[str]] = words_of if spaced else list
    source_rows = [split(example.source) for example in train]
    target_rows = [split(example.target) for example in train]
    source_ids, target_ids = _numbered(source_rows), _numbered(target_rows)
    names = {number: word for word, number in target_ids.items()}
    sizes = len(source_ids) + len(SPECIALS), len(target_ids) + len(SPECIALS)
    lexicon = learn_lexicon(_store(source_rows, source_ids), _store(target_rows, target_ids), *sizes)
    table: dict[str, str] = {}
    for word, number in source_ids.items():
        likely = [names[candidate] for candidate in lexicon.likely[number, :2].tolist() if candidate in names]
        table[word] = likely[0] if likely else ""
    joint = " " if spaced else ""
    return [joint.join(filter(None, (table.get(word, word) for word in split(source)))) for source in sources]


def _numbered(rows: Sequence[Sequence[str]]) -> dict[str, int]:
    words = dict.fromkeys(word for row in rows for word in row)
    return {word: number for number, word in enumerate(words, len(SPECIALS))}


def _store(rows: Sequence[Sequence[str]], ids: dict[str, int]) -> TokenStore:
    encoded = [[*(ids[word] for word in row), EOS] for row in rows]
    starts = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return TokenStore(np.array([number for row in encoded for number in row], np.int32), starts, None)
