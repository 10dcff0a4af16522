"""ICU messages with choices, as one sentence for each combination of branches.

    {n, plural, one {# day} other {# days}} left  ↔  n = one: {#} day left;  n = other: {#} days left

A model translates sentences, so a choice inside a sentence is moved around it, as ICU itself advises: the message that
is put together again holds whole sentences in its branches. The number # is written {#} in a sentence, so that it is a
placeholder like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from regard.data.placeholders import Difference, closing_brace, compare_placeholders

CHOICE = re.compile(r"\{\s*(?P<argument>[\w.-]+)\s*,\s*(?P<kind>plural|selectordinal|select)\s*,\s*")
OFFSET = re.compile(r"offset:\s*\d+\s*")
BRANCH = re.compile(r"\s*(?P<key>=\d+|[\w-]+)\s*(?=\{)")
OTHER = "other"  # the branch that every choice has
MOST = 64  # combinations of branches; a message with more is left to people


@dataclass(frozen=True)
class MessageChoice:
    """{argument, kind, offset branches}."""

    argument: str
    kind: str
    offset: str
    branches: Mapping[str, Message]


Message = tuple[str | MessageChoice, ...]
Assignment = tuple[tuple[str, str], ...]  # (argument, key of its branch), in the order of the choices


def parse_message(text: str) -> Message | None:
    """Its texts and choices; None where a choice is not written as ICU demands."""
    return _parse(text, plural=False)


def has_choice(text: str) -> bool:
    return CHOICE.search(text) is not None


def assignments(message: Message) -> list[Assignment] | None:
    """Every combination of branches; None where there are too many to translate."""
    found: list[Assignment] = []
    for made in _assignments(message, ()):
        if len(found) == MOST:
            return None
        found.append(made)
    return found


def resolve(message: Message, made: Assignment) -> str:
    """The sentence of one combination; a choice without that branch, or that is not named, has its last resort."""
    chosen = dict(made)
    return "".join(
        part
        if isinstance(part, str)
        else resolve(part.branches.get(chosen.get(part.argument, OTHER), part.branches[OTHER]), made)
        for part in message
    )


def assemble(message: Message, sentences: Mapping[Assignment, str]) -> str:
    """The message with these sentences, one for each of `assignments`, in its branches."""
    return _assemble(message, sentences, (), plural=False)


def compare_messages(source: str, target: str) -> Difference:
    """How placeholders differ; of messages with choices in the first combination of branches where they do, so that it
    does not matter what stands inside a branch and what outside."""
    if not has_choice(source):
        return compare_placeholders(source, target)
    one, other = parse_message(source), parse_message(target)
    made = None if one is None or other is None else assignments(one)
    if one is None or other is None or made is None or not has_choice(target):
        return compare_placeholders(source, target)
    differences = (compare_placeholders(resolve(one, each), resolve(other, each)) for each in made)
    return next((difference for difference in differences if difference), Difference((), ()))


def _parse(text: str, plural: bool) -> Message | None:
    parts: list[str | MessageChoice] = []
    position = 0
    while match := CHOICE.search(text, position):
        end = closing_brace(text, match.start())
        branches = None if end < 0 else _branches(text[match.end() : end - 1], match["kind"] != "select")
        if branches is None:
            return None
        parts += [
            _sentence(text[position : match.start()], plural),
            MessageChoice(match["argument"], match["kind"], *branches),
        ]
        position = end
    return (*parts, _sentence(text[position:], plural))


def _branches(text: str, plural: bool) -> tuple[str, dict[str, Message]] | None:
    """The offset, and what stands in each branch, of the inner part of a choice."""
    offset = OFFSET.match(text) if plural else None
    position = offset.end() if offset else 0
    branches: dict[str, Message] = {}
    while match := BRANCH.match(text, position):
        end = closing_brace(text, match.end())
        inner = _parse(text[match.end() + 1 : end - 1], plural) if end > 0 else None
        if inner is None:
            return None
        branches[match["key"]] = inner
        position = end
    if text[position:].strip() or OTHER not in branches:
        return None
    return offset.group() if offset else "", branches


def _sentence(text: str, plural: bool) -> str:
    """Without what only ICU reads: a doubled apostrophe is one, and # of a plural is {#}."""
    text = text.replace("''", "'")
    return re.sub(r"'#'|#", lambda match: "{#}" if match.group() == "#" else "#", text) if plural else text


def _first_open(message: Message, chosen: Mapping[str, str]) -> MessageChoice | None:
    for part in message:
        if isinstance(part, MessageChoice):
            if part.argument not in chosen:
                return part
            inner = _first_open(part.branches.get(chosen[part.argument], part.branches[OTHER]), chosen)
            if inner is not None:
                return inner
    return None


def _keys(message: Message, argument: str) -> list[str]:
    """Of all choices by this argument, in order, each once; the last resort comes last."""
    keys: dict[str, None] = {}
    for part in message:
        if isinstance(part, MessageChoice):
            if part.argument == argument:
                keys |= dict.fromkeys(part.branches)
            for inner in part.branches.values():
                keys |= dict.fromkeys(_keys(inner, argument))
    keys.pop(OTHER, None)
    return [*keys, OTHER]


def _assignments(message: Message, made: Assignment) -> Iterator[Assignment]:
    choice = _first_open(message, dict(made))
    if choice is None:
        yield made
        return
    for key in _keys(message, choice.argument):
        yield from _assignments(message, (*made, (choice.argument, key)))


def _assemble(message: Message, sentences: Mapping[Assignment, str], made: Assignment, plural: bool) -> str:
    choice = _first_open(message, dict(made))
    if choice is None:
        return _written(sentences[made], plural)
    inner = plural or choice.kind != "select"
    branches = " ".join(
        f"{key} {{{_assemble(message, sentences, (*made, (choice.argument, key)), inner)}}}"
        for key in _keys(message, choice.argument)
    )
    return f"{{{choice.argument}, {choice.kind}, {choice.offset}{branches}}}"


def _written(sentence: str, plural: bool) -> str:
    """As ICU reads it: an apostrophe before a brace is doubled, and # is a number in plurals, else quoted."""
    sentence = re.sub(r"'(?=[{}#])", "''", sentence)
    if plural:
        sentence = re.sub(r"(?<!\{)#(?!\})", "'#'", sentence)
    return sentence.replace("{#}", "#")
