"""TMX 1.1 to 1.4b: translation memories. https://www.gala-global.org/tmx-14b"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from regard.errors import UserError
from regard.formats.tags import Mark, with_native, with_tags
from regard.formats.unit import FileSpan, Filling, LanguagePair, LeftOut, Splice, Unit, is_variant, normal_language
from regard.formats.xml_events import LANG, InlineKind, XmlEvent, XmlFile, read_inline, xml_attribute, xml_text


@dataclass
class Variant:
    """One <tuv>: the text in one language."""

    language: str
    pieces: list[str | Mark]
    span: FileSpan


@dataclass
class TmxUnit:
    """One <tu> while it is read."""

    start: XmlEvent
    variants: list[Variant] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_tmx(xml: XmlFile, languages: LanguagePair) -> Iterator[Unit | LeftOut]:
    """A unit for each <tu> with the source's language. Without languages: the header's srclang and the only other."""
    events = xml.events()
    root = next((event for event in events if event.kind == "start"), None)
    if root is None or root.name != "tmx":
        raise UserError(f"{xml.path}: no <tmx> at its start; is it a TMX file?")
    current: TmxUnit | None = None
    language = ""
    for event in events:
        if event.kind == "start":
            if event.name == "header":
                header = event.attributes.get("srclang", "*all*")
                languages = LanguagePair(languages.source or (None if header == "*all*" else header), languages.target)
            elif event.name == "tu":
                current = TmxUnit(event)
            elif event.name == "tuv":
                language = event.attributes.get(LANG) or event.attributes.get("lang") or ""
                if not language:
                    raise xml.error(event, "<tuv> names no language; give it xml:lang")
            elif event.name == "seg" and current is not None:
                pieces, end = read_inline(xml, events, event, _inline_kind)
                current.variants.append(Variant(language, pieces, FileSpan(event.end, end.start)))
            elif event.name == "note" and current is not None:
                current.notes += [
                    piece for piece in read_inline(xml, events, event, _inline_kind)[0] if isinstance(piece, str)
                ]
        elif event.kind == "end" and event.name == "tu" and current is not None:
            languages = _known(xml, current, languages)
            yield from _units(xml, current, event, languages)
            current = None
        if current is None:
            xml.forget(event.end)


def _known(xml: XmlFile, unit: TmxUnit, languages: LanguagePair) -> LanguagePair:
    """Open languages become those of the file, while it has no more than two."""
    there = list(dict.fromkeys(variant.language for variant in unit.variants))
    if languages.source is None and languages.target is None and len(there) == 2:
        return LanguagePair(*there)
    if languages.source is not None and languages.target is None:
        others = [language for language in there if not is_variant(language, languages.source)]
        if len(others) == 1:
            return LanguagePair(languages.source, others[0])
        if not others:
            return languages
    if languages.source is None or languages.target is None:
        raise xml.error(
            unit.start,
            f"the languages are {', '.join(there) or 'none'}; "
            "choose with --data.source-language en --data.target-language fr",
        )
    return languages


def _units(xml: XmlFile, tu: TmxUnit, end: XmlEvent, languages: LanguagePair) -> Iterator[Unit | LeftOut]:
    place = xml.place(tu.start)
    if languages.source is None:
        return
    sources, targets = _of(tu, languages.source), _of(tu, languages.target or "")
    if not sources:
        yield LeftOut(place, f"no text in {languages.source}")
        return
    source = with_tags(sources[0].pieces)
    for variant in (*sources[1:], *targets[1:]):
        if normal_language(variant.language) in {normal_language(v.language) for v in (sources[0], *targets[:1])}:
            why = f"a second text in {variant.language} in one unit"
        else:
            why = f"another variant of the language, {variant.language}, in one unit"
        yield LeftOut(place, why)
    target = with_tags(targets[0].pieces, source) if targets else None
    spans = {"target": targets[0].span} if targets else {"insert": FileSpan(end.start, end.start)}
    yield Unit(
        key=tu.start.attributes.get("tuid", ""),
        source=source.text,
        target=target.text if target else "",
        state="translated" if target and target.text.strip() else "untranslated",
        place=place,
        notes=tuple(tu.notes),
        languages=f"{sources[0].language} {targets[0].language}" if targets else "",
        native=source.native,
        spans=spans,
    )


def _of(tu: TmxUnit, wanted: str) -> list[Variant]:
    """The texts in this language: those in exactly it first, then those in its variants."""
    fitting = [variant for variant in tu.variants if wanted and is_variant(variant.language, wanted)]
    return sorted(fitting, key=lambda variant: normal_language(variant.language) != normal_language(wanted))


def _inline_kind(event: XmlEvent) -> tuple[InlineKind, str]:
    attributes = event.attributes
    identity = attributes.get("x") or attributes.get("i") or attributes.get("type") or ""
    match event.name:
        case "bpt":
            return "begin", attributes.get("i", "")
        case "ept":
            return "end", attributes.get("i", "")
        case "hi":
            return "open", f"hi {identity}"
        case _:  # ph, it, ut, sub and what else there may be
            return "alone", f"{event.name} {identity}"


def tmx_splices(fillings: Sequence[Filling], languages: LanguagePair) -> list[Splice]:
    """New texts, and new <tuv> where the language is missing."""
    splices = []
    for filling in fillings:
        text = with_native(filling.target, filling.unit, xml_text)
        if "target" in filling.unit.spans:
            splices.append(Splice(filling.unit.spans["target"], text))
            continue
        note = f"<note>{xml_text(filling.note)}</note>" if filling.note else ""
        tuv = f'<tuv xml:lang="{xml_attribute(languages.target or "")}">{note}<seg>{text}</seg></tuv>'
        splices.append(Splice(filling.unit.spans["insert"], tuv))
    return splices
