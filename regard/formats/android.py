"""Android's string resources, of one language. https://developer.android.com/guide/topics/resources/string-resource"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from regard.errors import UserError
from regard.formats.tags import Mark, with_native, with_tags
from regard.formats.unit import FileSpan, Filling, Splice, Unit
from regard.formats.xml_events import InlineKind, XmlEvent, XmlFile, read_inline, skip_element, xml_text

_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_QUOTED = re.compile(r'(?<!\\)"((?:[^"\\]|\\.)*)"', re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t"}


def read_android(xml: XmlFile) -> Iterator[Unit]:
    """A unit for each <string>, each <item> of a <string-array>, each quantity of a <plurals>."""
    events = xml.events()
    root = next((event for event in events if event.kind == "start"), None)
    if root is None or root.name != "resources":
        raise UserError(f"{xml.path}: no <resources> at its start; is it an Android strings.xml?")
    seen: set[str] = set()
    notes: list[str] = []
    name, count, translatable = "", 0, True
    for event in events:
        if event.kind == "comment":
            notes.append(event.text.strip())
        if event.kind != "start":
            continue
        if event.name in ("string", "string-array", "plurals"):
            name, count = event.attributes.get("name", ""), 0
            translatable = event.attributes.get("translatable") != "false"
            if not name or name in seen:
                reason = f"a second resource {name!r}; names must differ" if name else f"<{event.name}> has no name"
                raise xml.error(event, reason)
            seen.add(name)
        elif event.name != "item" or not name:
            skip_element(events, event)
            continue
        if event.name in ("string", "item"):
            quantity = event.attributes.get("quantity", "")
            key = f"{name}[{count}]" if event.name == "item" and not quantity else name
            count += 1
            yield _unit(xml, events, event, key, quantity, translatable, tuple(notes))
            notes = []


def _unit(
    xml: XmlFile,
    events: Iterator[XmlEvent],
    event: XmlEvent,
    key: str,
    quantity: str,
    translatable: bool,
    notes: tuple[str, ...],
) -> Unit:
    place = xml.place(event)
    pieces, end = read_inline(xml, events, event, _inline_kind)
    text = with_tags(android_text(pieces))
    reference = re.fullmatch(r"[@?][\w:+./]+", text.text) is not None
    return Unit(
        key,
        text.text,
        "",
        "untranslated" if translatable and not reference else "protected",
        place,
        notes=notes,
        plural=quantity,
        native=text.native,
        spans={"text": FileSpan(event.end, end.start)} if event.end <= end.start else {},
    )


def android_text(pieces: list[str | Mark]) -> list[str | Mark]:
    """Escapes read, white space outside of quotes collapsed, as Android shows it."""
    shown: list[str | Mark] = []
    for index, piece in enumerate(pieces):
        if isinstance(piece, Mark):
            shown.append(piece)
            continue
        parts, position = [], 0
        for match in _QUOTED.finditer(piece):
            parts += [_collapsed(piece[position : match.start()]), _unescaped(match.group(1))]
            position = match.end()
        parts.append(_collapsed(piece[position:]))
        text = "".join(parts)
        if not _QUOTED.search(piece):
            text = text.lstrip(" ") if index == 0 else text
            text = text.rstrip(" ") if index == len(pieces) - 1 else text
        shown.append(text)
    return shown


def _collapsed(text: str) -> str:
    return _unescaped(re.sub(r"[ \t\r\n]+", " ", text))


def _unescaped(text: str) -> str:
    plain = _ESCAPE.sub(_letter, text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _letter(match: re.Match[str]) -> str:
    code = match.group(1)
    return chr(int(code[1:], 16)) if len(code) == 5 else _LETTERS.get(code, code)


def android_splices(fillings: Sequence[Filling]) -> list[Splice]:
    """New texts. White space at an end, and what would be a reference, are escaped."""
    splices = []
    for filling in fillings:
        content = with_native(filling.target, filling.unit, _escaped)
        content = re.sub(r"^(?=[@?])", r"\\", content)
        splices.append(Splice(filling.unit.spans["text"], re.sub(r"^ | $", r"\\u0020", content)))
    return splices


def _escaped(text: str) -> str:
    escaped = (
        text.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    )
    escaped = re.sub(r"(?<= ) ", r"\\u0020", escaped)
    return xml_text(escaped.replace("\r", "\\u000D"))


def _inline_kind(event: XmlEvent) -> tuple[InlineKind, str]:
    return "open", " ".join([event.name, *event.attributes.values()])
