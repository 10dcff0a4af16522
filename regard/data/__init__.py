"""From files, or from nothing, to batches. Knows text, knows no network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.data.class_labels import ClassLabels
from regard.data.codecs import SourceCodec, TargetCodec
from regard.data.corpus import Corpus, Example, Skipped, Task, load_corpus
from regard.data.embedded import EMBEDDED, Embedded
from regard.data.files import read_lines, read_pairs, read_parallel, write_pairs
from regard.data.image_codec import ImageCodec
from regard.data.tokenizer import Tokenizer
from regard.data.vocabulary import BOS, EOS, PAD

if TYPE_CHECKING:
    from regard.data.batches import Batch, Pairs, encode_pairs, make_batch, plan

__all__ = [
    "BOS",
    "EMBEDDED",
    "EOS",
    "PAD",
    "Batch",
    "ClassLabels",
    "Corpus",
    "Embedded",
    "Example",
    "ImageCodec",
    "Pairs",
    "Skipped",
    "SourceCodec",
    "TargetCodec",
    "Task",
    "Tokenizer",
    "encode_pairs",
    "load_corpus",
    "make_batch",
    "plan",
    "read_lines",
    "read_pairs",
    "read_parallel",
    "write_pairs",
]


def __getattr__(name: str) -> Any:
    """Batches need torch, which takes seconds to import; corpora and tokenizers do without."""
    if name in ("Batch", "Pairs", "encode_pairs", "make_batch", "plan"):
        from regard.data import batches

        return getattr(batches, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
