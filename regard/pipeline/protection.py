"""Sources as a model gets them: with symbols for placeholders, or without those that its vocabulary cannot name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from regard.analysis.projection import Removed
from regard.data.icu import Assignment, Message, assemble, assignments, has_choice, parse_message, resolve
from regard.data.masking import MaskedText, PlaceholderSymbols
from regard.data.placeholders import Difference, Placeholder, difference, find_placeholders
from regard.data.sentencepiece import SentencePieceTokenizer
from regard.data.tokenizer import Tokenizer
from regard.inference.constraints import Constraints

# What is taken out of the source, where the vocabulary has no symbol for it: nothing, as a model may have learned to
# copy it; tags; or all. Each is tried where the one before did not bring every placeholder through.
Taken = Literal["nothing", "tags", "all"]
ATTEMPTS: tuple[Taken, ...] = ("nothing", "tags", "all")


@dataclass(frozen=True)
class ProtectedText:
    """One source in one attempt."""

    masked: MaskedText
    removed: tuple[Removed, ...] = ()


@dataclass(frozen=True)
class SourceMessage:
    """A source, and the sentences to translate for it: one, or those of an ICU message's branches."""

    sentences: tuple[str, ...]
    message: Message | None = None  # of the choices
    made: tuple[Assignment, ...] = ()
    problem: str | None = None  # why it could not be taken apart

    @classmethod
    def of(cls, text: str) -> SourceMessage:
        if not has_choice(text):
            return cls((text,))
        message = parse_message(text)
        made = assignments(message) if message is not None else None
        if message is None or made is None:
            return cls((text,), problem="too many branches" if message is not None else "a choice ICU would refuse")
        return cls(tuple(resolve(message, one) for one in made), message, tuple(made))

    def assemble(self, outputs: Sequence[str]) -> str:
        """The output of each sentence → that of the message."""
        if self.message is None:
            return outputs[0]
        return assemble(self.message, dict(zip(self.made, outputs, strict=True)))


def protect(text: str, symbols: PlaceholderSymbols, taken: Taken) -> ProtectedText | None:
    """The text for this attempt; None where it would be that of an earlier one."""
    placeholders = find_placeholders(text)
    names = symbols.numbered(placeholders)
    if taken == "nothing":
        return ProtectedText(symbols.mask(text))
    bare = [name is None and (taken == "all" or _is_tag(p)) for p, name in zip(placeholders, names, strict=True)]
    if taken == "all" and not any(b and not _is_tag(p) for b, p in zip(bare, placeholders, strict=True)):
        return None
    if not any(bare):
        return None
    if any(b and p.pair is not None for b, p in zip(bare, placeholders, strict=True)):  # pairs by two ways may cross
        bare = [b or p.pair is not None for b, p in zip(bare, placeholders, strict=True)]
    return _without(text, placeholders, names, bare)


def _without(
    text: str, placeholders: Sequence[Placeholder], names: Sequence[str | None], bare: Sequence[bool]
) -> ProtectedText:
    """The text with symbols, and without those that are `bare`; a space on each side of a gap becomes one."""
    left, position = "", 0
    originals: dict[str, str] = {}
    removed: list[Removed] = []
    order = {index: number for number, index in enumerate(i for i, b in enumerate(bare) if b)}
    for index, (placeholder, name) in enumerate(zip(placeholders, names, strict=True)):
        left += _joined(left, text[position : placeholder.start])
        position = placeholder.end
        if bare[index]:
            before, after = text[: placeholder.start][-1:], text[placeholder.end :][:1]
            pair = None if placeholder.pair is None else order[placeholder.pair]
            spaces = before.isspace(), after.isspace()
            removed.append(Removed(placeholder.text, placeholder.role, len(left), pair, *spaces))
            if left[-1:].isalnum() and after.isalnum() and pair is None:  # two words stay two
                left += " "
        elif name is not None:
            originals[name] = placeholder.text
            left += name
        else:
            left += placeholder.text
    left += _joined(left, text[position:])
    return ProtectedText(MaskedText(left, originals), tuple(removed))


def constraints_of(masked: MaskedText, tokenizer: Tokenizer | SentencePieceTokenizer) -> Constraints:
    """Each symbol of the masked source once, and none of the others."""
    ids = tokenizer.placeholder_ids
    wanted = frozenset(ids[symbol] for symbol in masked.originals)
    closes = {
        ids[closing]: ids[opening]
        for closing, opening in PlaceholderSymbols.pairs_of(masked.originals).items()
        if closing in ids
    }
    return Constraints(symbols=wanted, closes=closes, unknown=frozenset(ids.values()) - wanted)


def check_placeholders(source: str, output: str) -> Difference:
    """What the output lacks or doubles of its source's. A code that only the output has may be a word of it."""
    there = find_placeholders(output)
    wanted = find_placeholders(source)
    known = {placeholder.key for placeholder in wanted}
    return difference(wanted, [one for one in there if one.kind != "code" or one.key in known])


def cut_added(output: str, source: str) -> tuple[str, list[int]]:
    """The output without placeholders that the source lacks, and where each character and the end are in it."""
    known = {placeholder.key for placeholder in find_placeholders(source)}
    cut = [one for one in find_placeholders(output) if one.key not in known and one.kind != "code"]
    kept = [all(not one.start <= at < one.end for one in cut) for at in range(len(output))]
    moved = [0, *accumulate(kept)]
    return "".join(letter for letter, stays in zip(output, kept, strict=True) if stays), moved


def _is_tag(placeholder: Placeholder) -> bool:
    return placeholder.role != "value"


def _joined(left: str, text: str) -> str:
    return text.lstrip() if text[:1].isspace() and (not left or left[-1].isspace()) else text
