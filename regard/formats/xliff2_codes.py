"""The rules of XLIFF 2 for inline codes and annotations: halves that belong together, order, copies, references."""

from __future__ import annotations

from regard.formats.xliff2_elements import CODES
from regard.formats.xliff2_tree import Report, XliffElement, XliffFileState

_MODULES = ("gls", "mtc", "mda", "res", "val", "fs", "slr", "ctr", "its", "pgs", "my")
_ORDER = {"f": 0, "g": 1, "u": 2}


def check_spanning(codes: list[XliffElement], refuse: Report) -> None:
    """<sc> and <ec>, <sm> and <em>: the end follows its start; isolated says that the other half is elsewhere."""
    starts: dict[tuple[str, str], XliffElement] = {}
    ended: set[tuple[str, str]] = set()
    for code in codes:
        isolated = code.get("isolated") == "yes"
        if code.name in ("sc", "sm"):
            starts[(code.name[1], code.get("id"))] = code
        elif code.name in ("ec", "em"):
            key = (code.name[1], code.get("startRef"))
            if code.name == "ec" and isolated != bool(code.get("id")):
                refuse(code, "<ec> has an id if, and only if, it is isolated")
            if isolated != (not code.get("startRef")):
                refuse(code, f"<{code.name}> has a startRef unless it is isolated")
            if isolated:
                continue
            if key not in starts or starts[key].get("isolated") == "yes":
                refuse(code, f"<{code.name}> has no <s{key[0]}> with id {key[1]!r} before it")
            ended.add(key)
            _check_halves(starts[key], code, refuse)
    for key, start in starts.items():
        if key not in ended and start.get("isolated") != "yes":
            refuse(start, f"<{start.name}> has no <e{key[0]}>, and is not isolated")


def _check_halves(start: XliffElement, end: XliffElement, refuse: Report) -> None:
    for name, usual in (("canCopy", "yes"), ("canDelete", "yes"), ("canOverlap", "yes"), ("canReorder", "yes")):
        values = [start.get(name, usual), end.get(name, usual)]
        if name == "canReorder":
            values = ["no" if value == "firstNo" else value for value in values]
        if name in end.attributes and values[0] != values[1]:
            refuse(end, f"{name} differs between <sc> and <ec>")


def check_reordering(parts: list[XliffElement], side: str, refuse: Report) -> None:
    """canReorder="no" stands in a sequence that begins with firstNo; the target keeps each sequence."""
    sequences: dict[str, list[list[tuple[str, str] | None]]] = {"source": [], "target": []}
    for name in ("source", "target") if side == "target" else ("source",):
        texts = [text for part in parts for text in part.children if text.name == name]
        for code in (code for text in texts for code in text.all(*CODES)):
            order = code.get("canReorder", "yes")
            if order == "firstNo":
                sequences[name].append([])
            if order == "no" and not sequences[name]:
                refuse(code, 'canReorder="no" without firstNo before it')
            if order != "yes":
                if code.get("canCopy") != "no" or code.get("canDelete") != "no":
                    refuse(code, f'canReorder="{order}" needs canCopy="no" and canDelete="no"')
                inside = code.parent.get("id") if code.parent is not None and code.parent.name == "pc" else ""
                sequences[name][-1].append((code.get("id") or code.get("startRef"), inside))
            elif sequences[name] and name == "target":
                sequences[name][-1].append(None)  # one that may move, and must not stand between the others
    for row in sequences["target"] if side == "target" else ():
        fixed = row[: _last(row) + 1]
        if None in fixed or fixed not in sequences["source"]:
            refuse(parts[0], "codes that must not be reordered are in another order in <target>")


def _last(row: list[tuple[str, str] | None]) -> int:
    return max((index for index, code in enumerate(row) if code is not None), default=-1)


def check_deletions(parts: list[XliffElement], refuse: Report) -> None:
    """A code with canDelete="no" is in the target of its segment, or of another of the unit."""
    targets = [part.children[1] for part in parts if len(part.children) > 1]
    there = {code.get("id") for target in targets for code in target.all(*CODES)}
    for part in parts:
        if len(part.children) > 1:
            for code in part.children[0].all(*CODES):
                if code.get("canDelete") == "no" and code.get("id") and code.get("id") not in there:
                    refuse(code, f"code {code.get('id')!r} must not be deleted, and no <target> has it")


def check_code(
    code: XliffElement, unit: XliffElement, codes: list[XliffElement], state: XliffFileState, refuse: Report
) -> None:
    data = {item.get("id") for item in unit.all("data")}
    for name in ("dataRef", "dataRefStart", "dataRefEnd"):
        if code.get(name) and code.get(name) not in data:
            refuse(code, f"{name} {code.get(name)!r}: <originalData> has no such <data>")
    if code.get("copyOf"):
        originals = [other for other in codes if other.get("id") == code.get("copyOf")]
        if (
            not originals
            or originals[0].get("canCopy") == "no"
            or any(key.startswith("dataRef") for key in code.attributes)
        ):
            refuse(code, f"copyOf {code.get('copyOf')!r} names no code that may be copied, or stands beside a dataRef")
    for name in ("subFlows", "subFlowsStart", "subFlowsEnd"):
        state.subflows += [(code, reference) for reference in code.get(name).split()]
    if code.name in ("mrk", "sm"):
        _check_annotation(code, unit, refuse)


def _check_annotation(mark: XliffElement, unit: XliffElement, refuse: Report) -> None:
    reference = mark.get("ref")
    if reference.startswith("#"):
        _check_fragment(mark, reference[1:], refuse)
    if mark.get("type") == "comment":
        notes = {note.get("id") for child in unit.children if child.name == "notes" for note in child.children}
        if bool(reference) == ("value" in mark.attributes):
            refuse(mark, "a comment has either a value or a ref to a note")
        *path, note = reference.removeprefix("#").split("/")
        elsewhere = bool(path) and path[-1] != f"u={unit.get('id')}"
        if reference and (elsewhere or not note.startswith("n=") or note[2:] not in notes):
            refuse(mark, f"a comment's ref {reference!r} names no <note> of its unit")


_REGISTERED = ("tbx",)  # prefixes of extensions that the XLIFF committee has registered


def _check_fragment(mark: XliffElement, fragment: str, refuse: Report) -> None:
    """#/f=file/g=group/u=unit/PREFIX=id: in this order, each once, one leaf at the end."""
    levels = []
    for part in fragment.removeprefix("/").split("/"):
        prefix, equals, _ = part.rpartition("=")
        if equals and prefix not in (*_ORDER, "n", "d", "t", *_MODULES[:-1], *_REGISTERED):
            refuse(mark, f"ref #{fragment}: the prefix {prefix!r} is not known")
        levels.append(_ORDER.get(prefix, 3))
    if levels != sorted(set(levels)):
        refuse(mark, f"ref #{fragment}: its parts are not in the order file, group, unit, one id")
