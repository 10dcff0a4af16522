"""Files of one language: a source file and its translation, put together by their keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from regard.formats.tags import CANONICAL
from regard.formats.unit import LeftOut, Unit


def by_key(sources: Sequence[Unit | LeftOut], targets: Sequence[Unit | LeftOut]) -> Iterator[Unit | LeftOut]:
    """Each source with the target of the same key and plural form; the targets that are left have no source.

    A plural form that the source language does not have (few, many) is translated from the form other.
    """
    known = {(unit.key, unit.plural): unit for unit in targets if isinstance(unit, Unit)}
    others: dict[str, Unit] = {}
    for unit in sources:
        if isinstance(unit, LeftOut):
            yield unit
            continue
        if unit.plural in ("", "other"):
            others[unit.key] = unit
        target = known.pop((unit.key, unit.plural), None)
        yield unit if target is None or unit.state == "protected" else _joined(unit, target)
    for (key, _), target in known.items():
        if target.plural and key in others and target.state != "protected":
            yield replace(_joined(others[key], target), spans={})
        else:
            yield LeftOut(target.place, "no text with this key in the source")


def _joined(source: Unit, target: Unit) -> Unit:
    """The source's unit with the target's text, whose tags get the numbers of the source's."""
    new = new_tags(target.native, source.native)
    text = CANONICAL.sub(lambda match: new.get(match.group(), match.group()), target.source)
    return replace(
        source,
        target=text,
        state="translated" if text.strip() else "untranslated",
        plural=target.plural,
        target_native={new[tag]: markup for tag, markup in target.native.items()},
    )


def new_tags(native: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Tags become those of `wanted` that stand for the same markup; others get the numbers after them."""
    free: dict[tuple[str, str], list[str]] = {}
    for tag, markup in wanted.items():
        if not tag.startswith("</"):
            free.setdefault((tag[1], markup), []).append(tag)
    following = max((int(a or b) for tag in wanted for a, b in CANONICAL.findall(tag)), default=0) + 1
    new: dict[str, str] = {}
    for tag in native:
        if tag.startswith("</"):
            continue
        fitting = free.get((tag[1], native[tag]))
        if fitting:
            new[tag] = fitting.pop(0)
        else:
            new[tag] = f"<g{following}>" if tag[1] == "g" else f"<x{following}/>"
            following += 1
        if tag[1] == "g":
            new[tag.replace("<", "</")] = new[tag].replace("<", "</")
    return new
