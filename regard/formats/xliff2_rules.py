"""The rules of XLIFF 2 core that a schema does not hold, and those of its schema: each unit is checked as it is read.

https://docs.oasis-open.org/xliff/xliff-core/v2.2/: sections 4.2 (elements), 4.3 (attributes), 4.7 (inline content).
"""

from __future__ import annotations

from collections.abc import Iterator

from regard.formats.xliff2_codes import check_code, check_deletions, check_reordering, check_spanning
from regard.formats.xliff2_elements import INLINES, LANGUAGE, check_element
from regard.formats.xliff2_tree import Report, XliffElement, XliffFileState
from regard.formats.xml_events import LANG, XML, XmlEvent, XmlFile


def checked(xml: XmlFile, events: Iterator[XmlEvent], root: XmlEvent) -> Iterator[XmlEvent]:
    """The events as they are, refused at the first rule that is broken; memory is that of one unit."""

    def refuse(element: XliffElement, message: str) -> None:
        raise xml.error(element.event, message)

    top = XliffElement(root)
    for name in ("srcLang", "trgLang"):
        if top.get(name) and not LANGUAGE.fullmatch(top.get(name)):
            refuse(top, f"{name} {top.get(name)!r} is no language code")
    if not top.get("srcLang"):
        refuse(top, "<xliff> names no srcLang")
    state = XliffFileState()
    file_ids: set[str] = set()
    current = top
    for event in events:
        if event.kind == "start":
            element = XliffElement(event, current)
            current.children.append(element)
            check_element(element, refuse)
            if element.name == "file":
                state = XliffFileState()
                if element.get("id") in file_ids:
                    refuse(element, f"a second <file> with id {element.get('id')!r}")
                file_ids.add(element.get("id"))
            elif element.name in ("unit", "group"):
                _unique(element, state.ids, element.name, refuse)
            current = element
        elif event.kind == "text":
            current.text += event.text
        elif event.kind == "end" and current.parent is not None:
            _close(current, top, state, refuse)
            current = current.parent
        yield event
    if not top.children:
        refuse(top, "<xliff> has no <file>")


def _close(element: XliffElement, root: XliffElement, state: XliffFileState, refuse: Report) -> None:
    """What can be said of an element only at its end; then it is forgotten, where nobody asks again."""
    names = [child.name for child in element.children]
    match element.name:
        case "unit":
            _check_unit(element, root, state, refuse)
            element.children.clear()
        case "file" | "group":
            if element.name == "file" and not {"unit", "group"} & set(names):
                refuse(element, f"<{element.name}> has no <unit> and no <group>")
            _extension_ids(element, refuse)
            if element.name == "file":
                known = {name for kind, name in state.ids if kind == "unit"}
                for code, name in state.subflows:
                    if name not in known:
                        refuse(code, f"subFlows names {name!r}, and no unit has this id")
                element.children.clear()
        case "skeleton":
            empty = not element.text.strip() and not element.children
            if empty != bool(element.get("href")):
                refuse(element, "<skeleton> has either content or href")
        case "notes" | "originalData":
            if not names:
                refuse(element, f"<{element.name}> is empty")
            seen: set[tuple[str, str]] = set()
            for child in element.children:
                _unique(child, seen, child.name, refuse)
        case "segment" | "ignorable":
            if names not in (["source"], ["source", "target"]):
                refuse(element, f"<{element.name}> needs one <source>, then at most one <target>")
            spaces = {child.inherited(f"{XML} space", "default") for child in element.children}
            if len(spaces) > 1:
                refuse(element, "xml:space differs between <source> and <target>")


def _unique(element: XliffElement, seen: set[tuple[str, str]], kind: str, refuse: Report) -> None:
    name = element.get("id")
    if name:
        if (kind, name) in seen:
            refuse(element, f"a second <{element.event.name}> with id {name!r}; ids must differ")
        seen.add((kind, name))


def _extension_ids(element: XliffElement, refuse: Report) -> None:
    """Ids of extensions differ within the file, group or unit that they stand in."""
    seen: set[tuple[str, str]] = set()

    def walk(extension: XliffElement) -> None:
        name = extension.get("id") or extension.get(f"{XML} id")
        if name and (extension.event.namespace, name) in seen:
            refuse(extension, f"a second element of its namespace with id {name!r}")
        seen.add((extension.event.namespace, name or ""))
        for child in extension.children:
            walk(child)

    for child in element.children:
        if not child.name and not child.event.namespace.startswith("urn:oasis:names:tc:xliff:"):
            walk(child)


def _check_unit(unit: XliffElement, root: XliffElement, state: XliffFileState, refuse: Report) -> None:
    parts = list(unit.all("segment", "ignorable"))
    if not any(part.name == "segment" for part in parts):
        refuse(unit, "<unit> has no <segment>")
    _extension_ids(unit, refuse)
    _check_languages(unit, root, refuse)
    _check_order(parts, refuse)
    seen: set[tuple[str, str]] = set()
    for part in parts:
        _unique(part, seen, "part", refuse)
        for code in part.children[0].all(*INLINES):
            _unique(code, seen, "part", refuse)
    for side in ("source", "target"):
        codes = [
            code for part in parts for whole in part.children if whole.name == side for code in whole.all(*INLINES)
        ]
        check_spanning(codes, refuse)
        check_reordering(parts, side, refuse)
        for code in codes:
            check_code(code, unit, codes, state, refuse)
    check_deletions(parts, refuse)


def _check_languages(unit: XliffElement, root: XliffElement, refuse: Report) -> None:
    """xml:lang, own or inherited, is srcLang in <source> and trgLang in <target>."""
    for text in unit.all("source", "target"):
        wanted = root.get("srcLang" if text.name == "source" else "trgLang")
        if not wanted:
            refuse(text, "a <target>, and <xliff> names no trgLang; give the target's language")
        given = ""
        at: XliffElement | None = text
        while not given and at is not None:
            given, at = at.get(LANG), at.parent
        if given and given.lower() != wanted.lower():
            refuse(text, f"xml:lang {given!r} in <{text.name}>, and <xliff> says {wanted!r}")


def _check_order(parts: list[XliffElement], refuse: Report) -> None:
    given = [part.children[1].get("order") for part in parts if len(part.children) > 1]
    places = [order for order in given if order]
    if len(set(places)) < len(places) or any(not o.isdigit() or not 1 <= int(o) <= len(parts) for o in places):
        refuse(parts[0], f"order of <target>: {', '.join(places)}; each is one of 1 to {len(parts)}, once")
    taken = [int(order) if order else place for place, order in enumerate(given, start=1)]
    if places and len(given) == len(parts) and len(set(taken)) < len(taken):
        refuse(parts[0], "order of <target>: two targets are at one place")
