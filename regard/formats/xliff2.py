"""XLIFF 2.0, 2.1 and 2.2. https://docs.oasis-open.org/xliff/xliff-core/v2.2/"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from regard.formats.tags import Mark, with_native, with_tags
from regard.formats.unit import FileSpan, Filling, LanguagePair, LeftOut, Splice, Unit, UnitState, is_variant
from regard.formats.xliff2_elements import CORE
from regard.formats.xml_events import (
    InlineKind,
    XmlEvent,
    XmlFile,
    read_inline,
    set_attribute,
    skip_element,
    unclosed,
    xml_text,
)

# The segment's subState beside state="translated", which means: not reviewed.
TO_REVIEW, FROM_MEMORY = "regard:mt", "regard:tm"


@dataclass
class Segment:
    """One <segment> while it is read."""

    start: XmlEvent
    source: list[str | Mark] = field(default_factory=list)
    target: list[str | Mark] = field(default_factory=list)
    spans: dict[str, FileSpan] = field(default_factory=dict)


@dataclass
class Segments:
    """One <unit> while it is read."""

    start: XmlEvent
    segments: list[Segment] = field(default_factory=list)
    spans: dict[str, FileSpan] = field(default_factory=dict)


def read_xliff2(
    xml: XmlFile, events: Iterator[XmlEvent], root: XmlEvent, languages: LanguagePair
) -> Iterator[Unit | LeftOut]:
    """A unit for each <segment>. `events`: after the root's start."""
    source, target = root.attributes.get("srcLang", ""), root.attributes.get("trgLang", "")
    for given, wanted in ((source, languages.source), (target, languages.target)):
        if given and wanted and not is_variant(given, wanted):
            yield LeftOut(xml.place(root), f"a file from {source} to {target}")
            return
    unit: Segments | None = None
    translate = [True]
    for event in events:
        if event.kind == "start":
            if not CORE.fullmatch(event.namespace):
                skip_element(events, event)
                continue
            value = event.attributes.get("translate")
            translate.append(translate[-1] if value is None else value == "yes")
            if event.name == "unit":
                unit = Segments(event)
            elif unit is not None and event.name in ("segment", "ignorable", "originalData", "notes"):
                _part(xml, events, event, unit, root)
                translate.pop()
        elif event.kind == "end":
            translate.pop()
            if event.name == "unit" and unit is not None:
                protected = unit.start.attributes.get("translate", "yes" if translate[-1] else "no") != "yes"
                for number, segment in enumerate(unit.segments, start=1):
                    yield _unit(xml, unit, segment, number, protected)
                unit = None
        if unit is None:
            xml.forget(event.end)


def _part(xml: XmlFile, events: Iterator[XmlEvent], start: XmlEvent, unit: Segments, root: XmlEvent) -> None:
    """A child of a <unit>, read to its end."""
    if start.name == "notes":
        end = skip_element(events, start)
        unit.spans["notes"] = FileSpan(end.start, end.start)
        return
    unit.spans.setdefault("before", FileSpan(start.start, start.start))
    if start.name == "originalData":
        skip_element(events, start)
        return
    segment = Segment(start, spans={"tag": FileSpan(start.start, start.end)})
    for event in events:
        if event.kind == "end":
            break
        if event.kind != "start":
            continue
        pieces, end = read_inline(xml, events, event, _inline_kind)
        if event.name == "source":
            segment.source = pieces
            segment.spans["source"] = FileSpan(event.start, end.end)
            segment.spans["insert"] = FileSpan(end.end, end.end)
        elif event.name == "target":
            if not root.attributes.get("trgLang"):
                raise xml.error(event, "a <target>, and <xliff> names no trgLang; give the target's language")
            segment.target = pieces
            segment.spans["target"] = FileSpan(event.start, end.end)
            segment.spans["target tag"] = FileSpan(event.start, event.end)
    if "source" not in segment.spans:
        raise xml.error(start, f"<{start.name}> has no <source>; repair it")
    if start.name == "segment":
        unit.segments.append(segment)


def _unit(xml: XmlFile, unit: Segments, segment: Segment, number: int, protected: bool) -> Unit:
    source = with_tags(segment.source)
    target = with_tags(segment.target, source)
    attributes = segment.start.attributes
    state: UnitState = "translated"
    if protected:
        state = "protected"
    elif not target.text.strip():
        state = "untranslated"
    elif attributes.get("state") == "initial" or attributes.get("subState") == TO_REVIEW:
        state = "fuzzy"
    key = unit.start.attributes.get("id", "")
    return Unit(
        key=f"{key}/{attributes.get('id', number)}",
        source=source.text,
        target=target.text,
        state=state,
        place=xml.place(segment.start),
        context=unit.start.attributes.get("name", ""),
        native=source.native,
        spans={**unit.spans, **segment.spans},
    )


def _inline_kind(event: XmlEvent) -> tuple[InlineKind, str]:
    attributes = event.attributes
    identity = attributes.get("id", "")
    match event.name:
        case "pc":
            return "open", f"pc {identity}"
        case "mrk" if attributes.get("translate") != "no":
            return "open", f"mrk {identity}"
        case "sc" | "sm":
            return "begin", f"{event.name[1:]} {identity}"
        case "ec" | "em":
            return "end", f"{event.name[1:]} {attributes.get('startRef') or identity}"
        case _:  # ph, cp, protected text
            return "alone", f"{event.name} {identity or attributes.get('hex', '')}"


def xliff2_splices(content: bytes, fillings: Sequence[Filling], languages: LanguagePair) -> list[Splice]:
    """A <target> for each filling, the segment's state and subState, a <note> that says where it comes from."""
    if not fillings:
        return []
    splices = []
    for filling in fillings:
        unit = filling.unit
        tag = _at(content, unit.spans["tag"])
        prefix = re.match(r"<((?:[\w.-]+:)?)segment", tag).group(1)  # type: ignore[union-attr]
        changed = set_attribute(tag, "state", "translated")
        changed = set_attribute(changed, "subState", TO_REVIEW if filling.review else FROM_MEMORY)
        splices.append(Splice(unit.spans["tag"], changed))
        text = with_native(filling.target, unit, xml_text)
        if "target" in unit.spans:
            start = unclosed(_at(content, unit.spans["target tag"]))
            splices.append(Splice(unit.spans["target"], f"{start}{text}</{prefix}target>"))
        else:
            indent = _indent(content, unit.spans["source"].start)
            splices.append(Splice(unit.spans["insert"], f"{indent}<{prefix}target>{text}</{prefix}target>"))
    return splices + _notes(content, fillings) + _language(content, languages)


def _notes(content: bytes, fillings: Sequence[Filling]) -> list[Splice]:
    """One note a unit, with what is said of each of its segments."""
    by_unit: dict[FileSpan, list[Filling]] = {}
    for filling in fillings:
        if filling.note:
            spans = filling.unit.spans
            by_unit.setdefault(spans.get("notes", spans["before"]), []).append(filling)
    splices = []
    for span, of_unit in by_unit.items():
        prefix = re.match(r"<((?:[\w.-]+:)?)segment", _at(content, of_unit[0].unit.spans["tag"])).group(1)  # type: ignore[union-attr]
        texts = dict.fromkeys(filling.note for filling in of_unit)
        notes = "".join(
            f'<{prefix}note category="regard" appliesTo="target">{xml_text(text)}</{prefix}note>' for text in texts
        )
        if "notes" not in of_unit[0].unit.spans:
            notes = f"<{prefix}notes>{notes}</{prefix}notes>{_indent(content, span.start)}"
        splices.append(Splice(span, notes))
    return splices


def _language(content: bytes, languages: LanguagePair) -> list[Splice]:
    match = re.search(rb"<(?:[\w.-]+:)?xliff\b[^>]*>", content)
    assert match is not None
    tag = match.group().decode()
    if re.search(r"\strgLang\s*=", tag) or not languages.target:
        return []
    return [Splice(FileSpan(*match.span()), set_attribute(tag, "trgLang", languages.target))]


def _indent(content: bytes, position: int) -> str:
    """The white space before this position."""
    return re.search(r"\s*\Z", content[max(0, position - 4096) : position].decode("utf-8", "ignore")).group()  # type: ignore[union-attr]


def _at(content: bytes, span: FileSpan) -> str:
    return content[span.start : span.end].decode("utf-8")
