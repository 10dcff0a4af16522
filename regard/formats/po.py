"""gettext's PO and POT files. https://www.gnu.org/software/gettext/manual/html_node/PO-Files.html"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.formats.plural_forms import PluralForms, plural_forms
from regard.formats.po_strings import quoted, unquoted
from regard.formats.text_file import TextFile, text_file
from regard.formats.unit import FileSpan, Filling, LeftOut, Splice, Unit, UnitState

_CHARSET = re.compile(rb"charset=([A-Za-z0-9_.:-]+)")
_LINE = re.compile(r"[^\n]*\n?")
_KEYWORD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr)\s*(?:\[\s*(\d+)\s*\])?\s*(.*)", re.DOTALL)
_NO_FORMS = "a text with plural forms, and the header has no Plural-Forms for them"


@dataclass
class PoEntry:
    """One entry while it is read. Strings are by keyword: msgctxt, msgid, msgid_plural, msgstr, msgstr[0] …"""

    start: int
    line: int = 0
    strings: dict[str, str] = field(default_factory=dict)
    spans: dict[str, FileSpan] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    obsolete: bool = False

    @property
    def complete(self) -> bool:
        return any(keyword.startswith("msgstr") for keyword in self.strings)


def po_file(path: str | Path, data: bytes) -> TextFile:
    """Decoded as its header says."""
    charset = _CHARSET.search(data)
    named = charset.group(1).decode("ascii") if charset else "utf-8"
    return text_file(path, data, "utf-8" if named == "CHARSET" else named)


def read_po(file: TextFile) -> Iterator[Unit | LeftOut]:
    """Each entry as a unit, each with plural forms as one unit for each form."""
    forms: PluralForms | None = None
    seen: set[tuple[str, str]] = set()
    for entry in po_entries(file):
        source = entry.strings.get("msgid", "")
        if not source and "msgctxt" not in entry.strings:
            fields = entry.strings.get("msgstr", "")
            header = re.search(r"^Plural-Forms:(.*)$", fields, re.MULTILINE)
            forms = plural_forms(header.group(1)) if header else None
            continue
        if not entry.obsolete:
            key = (entry.strings.get("msgctxt", ""), source)
            if key in seen:
                raise file.error(entry.spans["msgid"].start, f"msgid {source!r} is there twice; delete one")
            seen.add(key)
        yield from _units(file, entry, forms)


def _units(file: TextFile, entry: PoEntry, forms: PluralForms | None) -> Iterator[Unit | LeftOut]:
    place = f"{file.path}:{entry.line}"
    context = entry.strings.get("msgctxt", "")
    source, many = entry.strings["msgid"], entry.strings.get("msgid_plural")
    key = f"{context}\x04{source}" if context else source
    notes = tuple(entry.notes)
    spans = {name: span for name, span in entry.spans.items() if name in ("start", "flags", "first", "insert")}
    if many is None:
        target = entry.strings.get("msgstr", "")
        spans["target"] = entry.spans["msgstr"]
        yield Unit(key, source, target, _state(entry, target), place, context, notes, spans=spans)
        return
    if forms is None:
        yield LeftOut(place, _NO_FORMS)
        return
    for form in range(forms.count):
        name = f"msgstr[{form}]"
        target = entry.strings.get(name, "")
        text = source if form == forms.singular else many
        own = {**spans, "target": entry.spans[name]} if name in entry.spans else spans
        yield Unit(key, text, target, _state(entry, target), place, context, notes, plural=str(form), spans=own)


def _state(entry: PoEntry, target: str) -> UnitState:
    if entry.obsolete:
        return "obsolete"
    if not target:
        return "untranslated"
    return "fuzzy" if "fuzzy" in entry.flags else "translated"


def po_entries(file: TextFile) -> Iterator[PoEntry]:
    """The entries of a file, the header first. Every line belongs to one, or is refused."""
    entry = PoEntry(0)
    keyword = ""
    for number, match in enumerate(_LINE.finditer(file.text), start=1):
        line, start = match.group().lstrip("\ufeff"), match.start()
        text = line.strip()
        if not text:
            keyword = ""
            continue
        obsolete = text.startswith("#~")
        if obsolete:
            text = text[2:].strip()
            if text.startswith("|") or not text:
                continue
        begins = text.startswith(("msgctxt", "msgid")) and not text.startswith("msgid_plural")
        if entry.complete and (text.startswith("#") or begins):
            yield entry
            entry = PoEntry(start)
        if text.startswith("#"):
            _comment(entry, text, FileSpan(start, match.end()))
            keyword = ""
            continue
        if not entry.strings:
            entry.line, entry.obsolete = number, obsolete
            entry.spans.setdefault("first", FileSpan(start, start))
            entry.spans.setdefault("start", FileSpan(entry.start, entry.start))
        keyword = _string(file, entry, keyword, text, FileSpan(start, match.end()))
    if entry.complete:
        yield entry
    elif entry.strings:
        raise file.error(len(file.text), "the last entry has no msgstr; the file is cut off")


def _comment(entry: PoEntry, text: str, span: FileSpan) -> None:
    if not entry.spans:
        entry.start = span.start
        entry.spans["start"] = FileSpan(span.start, span.start)
    if text.startswith("#,"):
        entry.flags += [flag.strip() for flag in text[2:].split(",")]
        entry.spans["flags"] = span
    elif text.startswith("#|"):
        entry.spans.setdefault("first", FileSpan(span.start, span.start))
    elif text.startswith("#.") or text[1:2] in ("", " "):
        entry.notes.append(text[2:].strip())


def _string(file: TextFile, entry: PoEntry, keyword: str, text: str, span: FileSpan) -> str:
    """Add one line with a string; the keyword that it belongs to."""
    content = text
    if not text.startswith('"'):
        match = _KEYWORD.fullmatch(text)
        if match is None:
            raise file.error(span.start, f"{text[:40]!r} is no line of a PO file; repair it")
        keyword = match.group(1) + (f"[{int(match.group(2))}]" if match.group(2) else "")
        content = match.group(3)
        if keyword in entry.strings:
            raise file.error(span.start, f"a second {keyword} in one entry; delete one")
        if keyword.startswith("msgstr") and "msgid" not in entry.strings:
            raise file.error(span.start, "msgstr without msgid; repair it")
        entry.strings[keyword] = ""
        entry.spans[keyword] = FileSpan(span.start, span.start)
    elif not keyword:
        raise file.error(span.start, "a string that belongs to no keyword; repair it")
    value = unquoted(content)
    if value is None:
        raise file.error(span.start, f"{content[:40]!r} is no quoted string; repair it")
    entry.strings[keyword] += value
    entry.spans[keyword] = FileSpan(entry.spans[keyword].start, span.end)
    if keyword.startswith("msgstr"):
        entry.spans["insert"] = FileSpan(span.end, span.end)
    return keyword


def po_splices(file: TextFile, fillings: Sequence[Filling]) -> list[Splice]:
    """New strings, the flag fuzzy where a human must look, and a translator's comment that says where it comes from."""
    splices = []
    for filling in fillings:
        unit, newline = filling.unit, file.newline
        keyword = f"msgstr[{unit.plural}]" if unit.plural else "msgstr"
        span = unit.spans.get("target", unit.spans["insert"])
        content = quoted(keyword, filling.target, newline)
        if span.end and not file.text[: span.end].endswith("\n"):  # the last line of a file without its end
            content = (newline if span.start == span.end else "") + content.removesuffix(newline)
        splices.append(Splice(span, content))
        if filling.note:
            comment = f"# {filling.note}{newline}"
            start = unit.spans["start"]
            if not file.text.startswith(comment, start.start):
                splices.append(Splice(start, comment))
        splices += _flag(file, unit, filling.review)
    return splices


def _flag(file: TextFile, unit: Unit, fuzzy: bool) -> list[Splice]:
    newline = file.newline
    if "flags" not in unit.spans:
        return [Splice(unit.spans["first"], f"#, fuzzy{newline}")] if fuzzy else []
    line = file.text[unit.spans["flags"].start : unit.spans["flags"].end]
    flags = [flag.strip() for flag in line.strip()[2:].split(",")]
    if fuzzy == ("fuzzy" in flags):
        return []
    flags = ["fuzzy", *flags] if fuzzy else [flag for flag in flags if flag != "fuzzy"]
    return [Splice(unit.spans["flags"], f"#, {', '.join(flags)}{newline}" if flags else "")]
