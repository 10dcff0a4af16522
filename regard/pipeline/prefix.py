"""What an output must begin with: a text, or ids of target tokens."""

from __future__ import annotations

from collections.abc import Sequence

from regard.data.codecs import TargetCodec
from regard.data.vocabulary import SPECIALS
from regard.errors import UserError

Prefix = str | Sequence[int]


def prefix_ids(prefix: Prefix, codec: TargetCodec) -> Sequence[int]:
    """A text is split as the targets of training were; ids are taken as they are (`Result.ids` has such)."""
    if not prefix:
        return ()
    if codec.kind == "labels":
        raise UserError("a prefix is the beginning of an output text, and this run gives a class; leave it out")
    if isinstance(prefix, str):
        return codec.encode(prefix)
    for token in prefix:
        if not len(SPECIALS) <= token < codec.size:
            raise UserError(f"prefix: {token} is no id of a token; take ids from {len(SPECIALS)} to {codec.size - 1}")
    return list(prefix)
