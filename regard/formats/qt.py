"""Qt's TS files. https://doc.qt.io/qt-6/linguist-ts-file-format.html"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from regard.errors import UserError
from regard.formats.tags import Mark, with_native, with_tags
from regard.formats.unit import FileSpan, Filling, LeftOut, Splice, Unit, UnitState
from regard.formats.xml_events import (
    InlineKind,
    XmlEvent,
    XmlFile,
    read_inline,
    remove_attribute,
    set_attribute,
    skip_element,
    unclosed,
    xml_text,
)


@dataclass
class QtMessage:
    """One <message> while it is read. `forms`: the target, or each of its <numerusform>s, with its span."""

    start: XmlEvent
    context: str
    source: list[str | Mark] = field(default_factory=list)
    comment: str = ""
    notes: list[str] = field(default_factory=list)
    kind: str = ""
    forms: list[tuple[list[str | Mark], FileSpan]] = field(default_factory=list)
    spans: dict[str, FileSpan] = field(default_factory=dict)

    @property
    def numerus(self) -> bool:
        return self.start.attributes.get("numerus") == "yes"


def read_qt(xml: XmlFile) -> Iterator[Unit | LeftOut]:
    """A unit for each <message>; for each form of those with numbers."""
    events = xml.events()
    root = next((event for event in events if event.kind == "start"), None)
    if root is None or root.name != "TS":
        raise UserError(f"{xml.path}: no <TS> at its start; is it a file of Qt Linguist?")
    context, message = "", None
    ids: set[str] = set()
    for event in events:
        if event.kind == "start":
            if event.name == "name" and message is None:
                context = _text(xml, events, event)
            elif event.name == "message":
                message = QtMessage(event, context)
                name = event.attributes.get("id")
                if name in ids:
                    raise xml.error(event, f"a second <message> with id {name!r}; ids must differ")
                ids |= {name} if name else set()
            elif message is not None:
                _part(xml, events, event, message)
        elif event.kind == "end" and event.name == "message" and message is not None:
            yield from _units(xml, message)
            message = None
        if message is None:
            xml.forget(event.end)


def _part(xml: XmlFile, events: Iterator[XmlEvent], event: XmlEvent, message: QtMessage) -> None:
    match event.name:
        case "source":
            message.source, end = read_inline(xml, events, event, _inline_kind)
            message.spans["source"] = FileSpan(event.start, end.end)
            message.spans["insert"] = FileSpan(end.end, end.end)
        case "comment" | "extracomment" | "translatorcomment":
            text = _text(xml, events, event)
            if event.name == "comment":
                message.comment = text
                message.spans["insert"] = FileSpan(event.start, event.start)
            message.notes.append(text)
        case "translation":
            message.kind = event.attributes.get("type", "")
            message.spans["tag"] = FileSpan(event.start, event.end)
            _translation(xml, events, event, message)
        case "extra-regard":
            end = skip_element(events, event)
            message.spans["note"] = FileSpan(event.start, end.end)
        case _:
            skip_element(events, event)


def _translation(xml: XmlFile, events: Iterator[XmlEvent], start: XmlEvent, message: QtMessage) -> None:
    if not message.numerus:
        pieces, end = read_inline(xml, events, start, _inline_kind)
        message.forms.append((pieces, FileSpan(start.start, end.end)))
        message.spans["after"] = FileSpan(end.end, end.end)
        return
    for event in events:
        if event.kind == "start":
            pieces, end = read_inline(xml, events, event, _inline_kind)
            message.forms.append((pieces, FileSpan(event.start, end.end)))
        elif event.kind == "end":
            message.spans["after"] = FileSpan(event.end, event.end)
            return


def _units(xml: XmlFile, message: QtMessage) -> Iterator[Unit | LeftOut]:
    place = xml.place(message.start)
    source = with_tags(message.source)
    if any(
        isinstance(piece, Mark) and piece.native.startswith("<lengthvariant")
        for form, _ in message.forms
        for piece in form
    ):
        yield LeftOut(place, "a text in several lengths")
        return
    if message.numerus and not message.forms:
        yield LeftOut(place, "a text with numbers, and the file says of no form; run lupdate with the target language")
        return
    key = "/".join(filter(None, [message.context, message.start.attributes.get("id", source.text), message.comment]))
    for number, (pieces, span) in enumerate(message.forms or [([], None)]):
        target = with_tags(pieces, source)
        spans = {**message.spans, **({"target": span} if span else {})}
        yield Unit(
            key,
            source.text,
            target.text,
            _state(message.kind, target.text),
            place,
            context=message.context,
            notes=tuple(message.notes),
            plural=str(number) if message.numerus else "",
            native=source.native,
            spans=spans,
        )


def _state(kind: str, target: str) -> UnitState:
    if kind in ("vanished", "obsolete"):
        return "obsolete"
    if not target.strip():
        return "untranslated"
    return "fuzzy" if kind == "unfinished" else "translated"


def _text(xml: XmlFile, events: Iterator[XmlEvent], event: XmlEvent) -> str:
    pieces, _ = read_inline(xml, events, event, _inline_kind)
    return "".join(piece for piece in pieces if isinstance(piece, str))


def _inline_kind(event: XmlEvent) -> tuple[InlineKind, str]:
    return "alone", " ".join([event.name, *event.attributes.values()])  # <byte value="x1d"/>


def qt_splices(content: bytes, fillings: Sequence[Filling]) -> list[Splice]:
    """New texts, unfinished where a human must look, and where they come from in an element of the tool's own."""
    splices = []
    for filling in fillings:
        unit, spans = filling.unit, filling.unit.spans
        text = with_native(filling.target, unit, xml_text)
        indent = re.search(rb"\s*\Z", content[max(0, spans["source"].start - 4096) : spans["source"].start])
        before = indent.group().decode() if indent else ""
        if "tag" not in spans:
            tag = '<translation type="unfinished">' if filling.review else "<translation>"
            splices.append(Splice(spans["insert"], f"{before}{tag}{text}</translation>"))
            continue
        raw = content[spans["tag"].start : spans["tag"].end].decode()
        tag = set_attribute(raw, "type", "unfinished") if filling.review else remove_attribute(raw, "type")
        if unit.plural:
            splices += [Splice(spans["tag"], tag), Splice(spans["target"], f"<numerusform>{text}</numerusform>")]
        else:
            splices.append(Splice(spans["target"], f"{unclosed(tag)}{text}</translation>"))
        if filling.note:
            note = f"<extra-regard>{xml_text(filling.note)}</extra-regard>"
            if "note" in spans:
                splices.append(Splice(spans["note"], note))
            elif not unit.plural or unit.plural == "0":
                splices.append(Splice(spans["after"], f"{before}{note}"))
    return splices
