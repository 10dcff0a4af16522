"""English text that ships inside Python: the help topics of pydoc, cut into consecutive chunks."""

from __future__ import annotations

import platform
import random
from pydoc_data.topics import topics

from regard.config import DataSettings, TokenizerSettings
from regard.data.embedded.draw import counts
from regard.data.examples import Corpus, Example

ABOUT = "language modelling on the English help topics that ship inside Python"
EXAMPLE = Example("", 'The "del" statement\n*******************\n\n   del_stmt ::= "del" target_list\n…')
CHUNK = 256
SHARE = 0.06


def make(config: DataSettings) -> Corpus:
    """Whole topics are held out. A topic's chunks, one after the other, are its text."""
    chunked = {name: chunks(text) for name, text in _own_topics().items()}
    order = sorted(chunked)
    random.Random(f"prose {config.seed}").shuffle(order)
    total = sum(map(len, chunked.values()))
    held_out = int(total * SHARE)
    wanted = counts(config, total - 2 * held_out, held_out, total, "ask for fewer")
    splits: dict[str, list[str]] = {"test": [], "dev": [], "train": []}
    limits = {"test": wanted.test, "dev": wanted.dev, "train": wanted.train}
    for split, limit in limits.items():
        for name in list(order):
            # A topic larger than what is left of dev or test is for training.
            if len(splits[split]) + len(chunked[name]) <= limit or (split == "train" and len(splits[split]) < limit):
                splits[split] += chunked[name]
                order.remove(name)
    notes = [
        f"text of Python {platform.python_version()}: {len(chunked)} topics, dev and test are whole topics; "
        f"{len(topics) - len(chunked)} topics left out that repeat a longer one"
    ]
    if config.examples and len(splits["train"]) > wanted.train:
        del splits["train"][wanted.train :]
    return Corpus(
        name="prose",
        **{split: [Example("", text) for text in rows] for split, rows in splits.items()},
        images=None,
        languages=None,
        skipped=[],
        notes=tuple(notes),
        task="continuation",
        tokenizer=TokenizerSettings(kind="character", shared=True),
        model="transformer-language",
    )


def chunks(text: str, size: int = CHUNK) -> list[str]:
    """Pieces of at most `size` characters that end after whitespace where there is some; joined they are the text."""
    pieces = []
    start = 0
    while len(text) - start > size:
        end = start + size
        for position in range(end, start + size // 2, -1):
            if text[position - 1].isspace():
                end = position
                break
        pieces.append(text[start:end])
        start = end
    return [*pieces, text[start:]] if start < len(text) else pieces


def _own_topics() -> dict[str, str]:
    """Topics that say something of their own: many are a section of a longer one, and would be on both sides."""
    seen: set[str] = set()
    own: dict[str, str] = {}
    for name in sorted(topics, key=lambda name: (-len(topics[name]), name)):
        paragraphs = [" ".join(paragraph.split()) for paragraph in topics[name].split("\n\n")]
        repeated = sum(len(paragraph) for paragraph in paragraphs if paragraph in seen)
        if 2 * repeated <= sum(map(len, paragraphs)) and topics[name].strip():
            own[name] = topics[name]
        seen.update(paragraphs)
    return own
