"""XML as a stream of events that know where they stand, by expat.

The input is decoded as it says it is encoded and given to expat as UTF-8, so that positions are bytes of the UTF-8 form
and memory stays constant. An external DTD is never loaded; a declaration of an entity is refused.
"""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, cast
from xml.parsers import expat

from regard.errors import UserError
from regard.formats.tags import Mark, MarkKind

CHUNK = 1 << 16
InlineKind = Literal["through", "open", "alone", "begin", "end"]  # through: as if the element were not there
LONGEST_TAG = 1 << 24  # bytes without an event: a tag, a comment
GZIP = b"\x1f\x8b"
XML = "http://www.w3.org/XML/1998/namespace"
LANG = f"{XML} lang"
_DECLARED = re.compile(rb"""<\?xml[^>]{0,100}?\bencoding\s*=\s*["']([^"']+)""")
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_UNMARKED = ((b"<\0?\0", "utf-16-le"), (b"\0<\0?", "utf-16-be"))


@dataclass
class XmlEvent:
    """`end`: where the next event starts, so that a start's span is its tag. Attributes: "namespace name" or "name"."""

    kind: Literal["start", "end", "text", "comment", "other"]
    name: str
    namespace: str
    text: str
    start: int
    line: int
    end: int = -1
    attributes: dict[str, str] = field(default_factory=dict)


class XmlFile:
    """An XML file that is read once, from its start to its end."""

    def __init__(self, path: str | Path, stream: BinaryIO) -> None:
        self.path = str(path)
        head = stream.read(1024)
        if head[:2] == GZIP:
            stream.seek(0)
            stream = cast("BinaryIO", gzip.GzipFile(fileobj=stream))
            head = stream.read(1024)
        self.encoding = xml_encoding(head, self.path)
        self._stream, self._head = stream, head
        self._window, self._window_start = bytearray(), 0
        self._fed, self._last_event = 0, 0
        self._queue: list[XmlEvent] = []
        self._parser = self._make_parser()

    def place(self, event: XmlEvent) -> str:
        return f"{self.path}:{event.line}"

    def error(self, event: XmlEvent, message: str) -> UserError:
        return UserError(f"{self.place(event)}: {message}")

    def raw(self, start: int, end: int) -> str:
        """What the file has from one position to another, as long as it is not forgotten."""
        assert start >= self._window_start
        return self._window[start - self._window_start : end - self._window_start].decode("utf-8")

    def forget(self, before: int) -> None:
        """What stands before this position is not asked for again."""
        if before > self._window_start:
            del self._window[: before - self._window_start]
            self._window_start = before

    def events(self) -> Iterator[XmlEvent]:
        waiting: XmlEvent | None = None
        for chunk in self._chunks():
            self._window += chunk
            self._fed += len(chunk)
            self._parse(chunk, final=False)
            for event in self._queue:
                if waiting is not None:
                    waiting.end = event.start
                    yield waiting
                waiting = event
            self._queue.clear()
        self._parse(b"", final=True)
        for event in [*self._queue, None]:
            if waiting is not None:
                waiting.end = event.start if event else self._fed
                yield waiting
            waiting = event

    def _chunks(self) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(self.encoding)()
        chunk = self._head
        lines = 1
        try:
            while chunk:
                text = decoder.decode(chunk)
                lines += text.count("\n")
                yield text.encode("utf-8")
                chunk = self._stream.read(CHUNK)
            yield decoder.decode(b"", final=True).encode("utf-8")
        except UnicodeError:
            raise UserError(
                f"{self.path}: after line {lines}: not {self.encoding}, as it says it is; correct the "
                "encoding that its first line names, or convert the file"
            ) from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise UserError(f"{self.path}: damaged gzip file: {error}") from None

    def _parse(self, chunk: bytes, *, final: bool) -> None:
        try:
            self._parser.Parse(chunk, final)
        except expat.ExpatError as error:
            message = expat.ErrorString(error.code)
            raise UserError(f"{self.path}:{error.lineno}: broken XML: {message}; repair it") from None
        if self._queue:
            self._last_event = self._queue[-1].start
        elif self._fed - self._last_event > LONGEST_TAG:
            line = self._parser.CurrentLineNumber
            raise UserError(f"{self.path}:{line}: a tag or comment of more than {LONGEST_TAG >> 20} MB; remove it")

    def _make_parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate("utf-8", " ")
        parser.StartElementHandler = lambda name, attributes: self._add("start", name, attributes=attributes)
        parser.EndElementHandler = lambda name: self._add("end", name)
        parser.CharacterDataHandler = lambda text: self._add("text", text=text)
        parser.CommentHandler = lambda text: self._add("comment", text=text)
        parser.ProcessingInstructionHandler = lambda target, text: self._add("other")
        parser.StartCdataSectionHandler = lambda: self._add("other")
        parser.EndCdataSectionHandler = lambda: self._add("other")
        parser.DefaultHandler = lambda text: self._add("other")
        parser.EntityDeclHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_skipped
        return parser

    def _add(
        self,
        kind: Literal["start", "end", "text", "comment", "other"],
        name: str = "",
        text: str = "",
        attributes: dict[str, str] | None = None,
    ) -> None:
        namespace, _, local = name.rpartition(" ")
        parser = self._parser
        self._queue.append(
            XmlEvent(
                kind,
                local,
                namespace,
                text,
                parser.CurrentByteIndex,
                parser.CurrentLineNumber,
                attributes=attributes or {},
            )
        )

    def _refuse_entity(self, name: str, *_: object) -> None:
        line = self._parser.CurrentLineNumber
        raise UserError(
            f"{self.path}:{line}: it declares the entity {name!r}, which is not read; write its text instead"
        )

    def _refuse_skipped(self, name: str, _is_parameter: bool) -> None:
        if not _is_parameter:
            line = self._parser.CurrentLineNumber
            raise UserError(f"{self.path}:{line}: &{name}; is not defined in the file; write its text instead")


def xml_encoding(head: bytes, path: str) -> str:
    """By its byte order mark, or as its first line says; else UTF-8."""
    declared = _DECLARED.search(head)
    name = declared.group(1).decode("ascii", "replace") if declared else "utf-8"
    try:
        codecs.lookup(name)
    except LookupError:
        raise UserError(f"{path}:1: the encoding {name!r} is not known; correct the first line") from None
    for mark, encoding in (*_BOMS, *_UNMARKED):
        if head.startswith(mark):
            return encoding
    if name.lower().replace("_", "-").startswith(("utf-16", "utf-32")):
        raise UserError(f"{path}:1: it says it is {name}, and its bytes are not; correct the first line")
    return name


def skip_element(events: Iterator[XmlEvent], start: XmlEvent) -> XmlEvent:
    """Read on to the end of this element."""
    depth = 1
    for event in events:
        depth += (event.kind == "start") - (event.kind == "end")
        if not depth:
            return event
    raise AssertionError(f"expat lets no {start.name} be open at the end")


def read_inline(
    xml: XmlFile, events: Iterator[XmlEvent], element: XmlEvent, kind_of: Callable[[XmlEvent], tuple[InlineKind, str]]
) -> tuple[list[str | Mark], XmlEvent]:
    """The content of an element as text and marks, and the event of its end."""
    pieces: list[str | Mark] = []
    opened: list[Mark | None] = []
    for event in events:
        if event.kind == "text":
            if pieces and isinstance(pieces[-1], str):
                pieces[-1] += event.text
            else:
                pieces.append(event.text)
        elif event.kind == "start":
            kind, identity = kind_of(event)
            if kind in ("through", "open"):
                empty = xml.raw(event.start, event.end).endswith("/>")
                mark = Mark("alone" if empty else "open", identity, xml.raw(event.start, event.end))
                opened.append(None if kind == "through" or empty else mark)
                if kind == "open":
                    pieces.append(mark)
            else:
                end = skip_element(events, event)
                pieces.append(Mark(cast("MarkKind", kind), identity, xml.raw(event.start, end.end)))
        elif event.kind == "end":
            if not opened:
                return pieces, event
            mark = opened.pop()
            if mark is not None:
                pieces.append(Mark("close", mark.identity, xml.raw(event.start, event.end)))
    raise AssertionError(f"expat lets no {element.name} be open at the end")


def xml_text(text: str) -> str:
    """Text as element content."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


def xml_attribute(text: str) -> str:
    return xml_text(text).replace('"', "&quot;").replace("\n", "&#10;").replace("\t", "&#9;")


def set_attribute(tag: str, name: str, value: str) -> str:
    """A start tag with this attribute; all else in it stays as it is."""
    pattern = re.compile(rf"""(\s{re.escape(name)}\s*=\s*)("[^"]*"|'[^']*')""")
    if pattern.search(tag):
        return pattern.sub(lambda match: f'{match.group(1)}"{xml_attribute(value)}"', tag, count=1)
    head, end = re.fullmatch(r"(.*?)(\s*/?>)", tag, re.DOTALL).groups()  # type: ignore[union-attr]
    return f'{head} {name}="{xml_attribute(value)}"{end}'


def remove_attribute(tag: str, name: str) -> str:
    return re.sub(rf"""\s+{re.escape(name)}\s*=\s*("[^"]*"|'[^']*')""", "", tag, count=1)


def unclosed(tag: str) -> str:
    """<target/> → <target>"""
    return re.sub(r"\s*/>$", ">", tag)
