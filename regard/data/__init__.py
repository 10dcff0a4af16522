"""From files, or from nothing, to batches. Knows text, knows no network."""

from regard.data.batches import Batch, Pairs, encode_pairs, make_batch, plan
from regard.data.corpus import Corpus, Example, Skipped, Task, load_corpus
from regard.data.embedded import EMBEDDED, Embedded
from regard.data.files import read_lines, read_pairs, read_parallel, write_pairs
from regard.data.tokenizer import BOS, EOS, PAD, Labels, Tokenizer, load_tokenizer

__all__ = [
    "BOS",
    "EMBEDDED",
    "EOS",
    "PAD",
    "Batch",
    "Corpus",
    "Embedded",
    "Example",
    "Labels",
    "Pairs",
    "Skipped",
    "Task",
    "Tokenizer",
    "encode_pairs",
    "load_corpus",
    "load_tokenizer",
    "make_batch",
    "plan",
    "read_lines",
    "read_pairs",
    "read_parallel",
    "write_pairs",
]
