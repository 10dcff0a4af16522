"""XLIFF 1.2. https://docs.oasis-open.org/xliff/v1.2/os/xliff-core.html"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from regard.formats.tags import Mark, with_native, with_tags
from regard.formats.unit import FileSpan, Filling, LanguagePair, LeftOut, Splice, Unit, UnitState, is_variant
from regard.formats.xml_events import (
    InlineKind,
    XmlEvent,
    XmlFile,
    read_inline,
    remove_attribute,
    set_attribute,
    skip_element,
    unclosed,
    xml_attribute,
    xml_text,
)

_UNTRANSLATED = {"new", "needs-translation"}
_FINISHED = {"translated", "final", "signed-off"}


@dataclass
class TransUnit:
    """One <trans-unit> while it is read."""

    start: XmlEvent
    source: list[str | Mark] = field(default_factory=list)
    target: list[str | Mark] = field(default_factory=list)
    state: str = ""
    notes: list[str] = field(default_factory=list)
    spans: dict[str, FileSpan] = field(default_factory=dict)


@dataclass
class XliffFile:
    """The <file> that is being read."""

    name: str = ""
    ids: set[str] = field(default_factory=set)
    wanted: bool = True
    translate: list[bool] = field(default_factory=lambda: [True])  # of the elements that are open


def read_xliff1(xml: XmlFile, events: Iterator[XmlEvent], languages: LanguagePair) -> Iterator[Unit | LeftOut]:
    """A unit for each <trans-unit> of the <file>s in these languages. `events`: after the root's start."""
    file = XliffFile()
    unit: TransUnit | None = None
    for event in events:
        if event.kind == "start":
            if event.name == "file":
                file = _file(event, languages)
                if not file.wanted:
                    attributes = event.attributes
                    there = f"{attributes.get('source-language')} to {attributes.get('target-language')}"
                    yield LeftOut(xml.place(event), f"a <file> from {there}")
            elif event.name == "trans-unit":
                unit = TransUnit(event)
            elif unit is not None:
                _part(xml, events, event, unit)
            if event.name in ("group", "trans-unit"):
                translate = event.attributes.get("translate")
                file.translate.append(file.translate[-1] if translate is None else translate == "yes")
        elif event.kind == "end" and event.name in ("group", "trans-unit"):
            if event.name == "trans-unit" and unit is not None and file.wanted:
                yield _unit(xml, unit, file)
            unit = None
            file.translate.pop()
        if unit is None:
            xml.forget(event.end)


def _file(event: XmlEvent, languages: LanguagePair) -> XliffFile:
    attributes = event.attributes
    source, target = attributes.get("source-language", ""), attributes.get("target-language", "")
    wanted = (not languages.source or not source or is_variant(source, languages.source)) and (
        not languages.target or not target or is_variant(target, languages.target)
    )
    return XliffFile(attributes.get("original", ""), wanted=wanted)


def _part(xml: XmlFile, events: Iterator[XmlEvent], event: XmlEvent, unit: TransUnit) -> None:
    """An element inside a <trans-unit>, read to its end."""
    match event.name:
        case "source":
            unit.source, end = read_inline(xml, events, event, _inline_kind)
            unit.spans["insert"] = FileSpan(end.end, end.end)
            unit.spans["source"] = FileSpan(event.start, end.end)
        case "seg-source":
            end = skip_element(events, event)
            unit.spans["insert"] = FileSpan(end.end, end.end)
        case "target":
            unit.target, end = read_inline(xml, events, event, _inline_kind)
            unit.state = event.attributes.get("state", "")
            unit.spans["tag"] = FileSpan(event.start, event.end)
            unit.spans["target"] = FileSpan(event.start, end.end)
        case "note":
            pieces, end = read_inline(xml, events, event, _inline_kind)
            unit.notes += [piece for piece in pieces if isinstance(piece, str)]
        case _:
            skip_element(events, event)


def _unit(xml: XmlFile, unit: TransUnit, file: XliffFile) -> Unit:
    key = unit.start.attributes.get("id", "")
    if not key:
        raise xml.error(unit.start, "<trans-unit> has no id; give it one")
    if "source" not in unit.spans:
        raise xml.error(unit.start, f"<trans-unit id={key!r}> has no <source>; repair it")
    if key in file.ids:
        raise xml.error(unit.start, f"a second <trans-unit> with id {key!r} in one <file>; ids must differ")
    file.ids.add(key)
    source = with_tags(unit.source)
    target = with_tags(unit.target, source)
    state: UnitState = "translated"
    if not file.translate[-1]:
        state = "protected"
    elif not target.text.strip() or unit.state in _UNTRANSLATED:
        state = "untranslated"
    elif unit.state and unit.state not in _FINISHED:
        state = "fuzzy"
    return Unit(
        key=f"{file.name}/{key}" if file.name else key,
        source=source.text,
        target=target.text,
        state=state,
        place=xml.place(unit.start),
        context=unit.start.attributes.get("resname", ""),
        notes=tuple(unit.notes),
        native=source.native,
        spans=unit.spans,
    )


def _inline_kind(event: XmlEvent) -> tuple[InlineKind, str]:
    attributes = event.attributes
    identity = attributes.get("id", "")
    match event.name:
        case "g":
            return "open", f"g {identity}"
        case "mrk" if attributes.get("mtype") == "seg":
            return "through", ""
        case "mrk" if attributes.get("mtype") != "protected":
            return "open", f"mrk {attributes.get('mtype')} {attributes.get('mid', '')}"
        case "bpt" | "bx":
            return "begin", attributes.get("rid") or identity
        case "ept" | "ex":
            return "end", attributes.get("rid") or identity
        case _:  # x, ph, it, sub, protected text
            return "alone", f"{event.name} {identity}"


def xliff1_splices(content: bytes, fillings: Sequence[Filling], languages: LanguagePair) -> list[Splice]:
    """A <target> with its state for each filling, and a <note> that says where it comes from."""
    return [_splice(content, filling, languages) for filling in fillings]


def _splice(content: bytes, filling: Filling, languages: LanguagePair) -> Splice:
    unit = filling.unit
    before = content[max(0, unit.spans["source"].start - 4096) : unit.spans["source"].start].decode("utf-8", "replace")
    indent = re.search(r"\s*\Z", before).group()  # type: ignore[union-attr]
    if "target" in unit.spans:
        span = unit.spans["target"]
        tag = unclosed(_at(content, unit.spans["tag"]))
    else:
        span = unit.spans["insert"]
        tag = "<target>"
        if languages.target and ("xml:lang" in _at(content, unit.spans["source"]).partition(">")[0]):
            tag = set_attribute(tag, "xml:lang", languages.target)
    prefix = re.match(r"<((?:[\w.-]+:)?)source", _at(content, unit.spans["source"])).group(1)  # type: ignore[union-attr]
    if not tag.startswith(f"<{prefix}"):
        tag = f"<{prefix}{tag[1:]}"
    qualifier = "leveraged-mt" if filling.origin == "machine" else "exact-match"
    tag = set_attribute(tag, "state", "needs-review-translation" if filling.review else "translated")
    tag = set_attribute(remove_attribute(tag, "state-qualifier"), "state-qualifier", qualifier)
    note = ""
    if filling.note and filling.note not in unit.notes:
        note = f'{indent}<{prefix}note from="{xml_attribute("regard")}">{xml_text(filling.note)}</{prefix}note>'
    text = with_native(filling.target, unit, xml_text)
    start = "" if "target" in unit.spans else indent
    return Splice(span, f"{start}{tag}{text}</{prefix}target>{note}")


def _at(content: bytes, span: FileSpan) -> str:
    return content[span.start : span.end].decode("utf-8")
