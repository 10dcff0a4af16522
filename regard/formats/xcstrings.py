"""Xcode's string catalogs (.xcstrings): JSON with the texts of all languages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from regard.errors import UserError
from regard.formats.json_strings import JsonObject, JsonPath, JsonString, json_string, json_strings
from regard.formats.text_file import TextFile
from regard.formats.unit import FileSpan, Filling, LanguagePair, LeftOut, Splice, Unit, UnitState


def read_xcstrings(file: TextFile, languages: LanguagePair) -> Iterator[Unit | LeftOut]:
    """A unit for each text, and each plural form that the target language has."""
    spans: dict[JsonPath, JsonString | JsonObject] = {item.path: item for item in json_strings(file)}
    catalog = json.loads(file.text.lstrip("\ufeff"))
    source = catalog.get("sourceLanguage") if isinstance(catalog, dict) else None
    if not isinstance(source, str) or not isinstance(catalog.get("strings"), dict):
        raise UserError(f"{file.path}: no sourceLanguage and strings; is it a string catalog of Xcode?")
    if languages.target is None:
        raise UserError(f"{file.path}: a string catalog has many languages; choose with --data.target-language fr")
    for key, entry in catalog["strings"].items():
        path: JsonPath = ("strings", key)
        place = file.place(spans[path].span.start)
        localizations = entry.get("localizations", {})
        texts = _texts(localizations.get(source, {}))
        target_path = (*path, "localizations", languages.target)
        found = _texts(localizations.get(languages.target, {}))
        if not found and len(texts) > 1:
            yield LeftOut(place, "plural forms that the target language does not have yet; add them in Xcode")
            continue
        for inner in found or {("stringUnit",): {}}:
            form = str(inner[-2]) if len(inner) > 1 else ""
            same = texts.get(inner) or texts.get((*inner[:-2], "other", "stringUnit")) or {}
            target = found.get(inner, {})
            yield Unit(
                key=key,
                source=same.get("value", key),
                target=target.get("value", ""),
                state=_state(entry, target),
                place=place,
                notes=(entry["comment"],) if "comment" in entry else (),
                plural=form,
                spans=_places(spans, path, (*target_path, *inner)),
            )


def _texts(localization: Any, path: JsonPath = ()) -> dict[JsonPath, dict[str, str]]:
    """The stringUnits inside, by the path to them."""
    found: dict[JsonPath, dict[str, str]] = {}
    if isinstance(localization, dict):
        for key, value in localization.items():
            if key == "stringUnit":
                found[(*path, key)] = value
            else:
                found |= _texts(value, (*path, key))
    return found


def _state(entry: dict[str, Any], target: dict[str, str]) -> UnitState:
    if entry.get("shouldTranslate") is False:
        return "protected"
    if entry.get("extractionState") == "stale":
        return "obsolete"
    if not target.get("value") or target.get("state") == "new":
        return "untranslated"
    return "translated" if target.get("state") == "translated" else "fuzzy"


def _places(spans: dict[JsonPath, JsonString | JsonObject], entry: JsonPath, unit: JsonPath) -> dict[str, FileSpan]:
    """The value and the state, where they are; else the innermost object that is there, to insert into."""
    if (*unit, "value") in spans and (*unit, "state") in spans:
        return {"value": spans[(*unit, "value")].span, "state": spans[(*unit, "state")].span}
    for depth, name in ((unit[:-1], "language"), (unit[:-2], "localizations"), (entry, "entry")):
        item = spans.get(depth)
        if isinstance(item, JsonObject):
            return {f"in {name}": FileSpan(item.end, item.end), f"empty {name}" if item.empty else "more": item.span}
    raise AssertionError("an entry of a catalog is an object")


def xcstrings_splices(file: TextFile, fillings: Sequence[Filling], languages: LanguagePair) -> list[Splice]:
    """Values with the state needs_review, or translated where nobody needs to look."""
    splices = []
    for filling in fillings:
        state, spans = "needs_review" if filling.review else "translated", filling.unit.spans
        if "value" in spans:
            splices += [Splice(spans["value"], json_string(filling.target)), Splice(spans["state"], f'"{state}"')]
            continue
        added: dict[str, Any] = {"stringUnit": {"state": state, "value": filling.target}}
        place = next(name for name in ("in language", "in localizations", "in entry") if name in spans)
        if place != "in language":
            added = {languages.target or "": added}
        if place == "in entry":
            added = {"localizations": added}
        splices.append(_inserted(file, spans[place], f"empty {place[3:]}" in spans, added))
    return splices


def _inserted(file: TextFile, place: FileSpan, empty: bool, added: dict[str, Any]) -> Splice:
    """One more key of an object, indented as Xcode does it."""
    line = file.text.rfind("\n", 0, place.start) + 1
    indent = len(file.text[line:]) - len(file.text[line:].lstrip(" "))
    depth = indent + 2 if empty else indent
    text = json.dumps(added, ensure_ascii=False, indent=2, separators=(",", " : "))
    inner = text.strip("{}").strip("\n").rstrip()
    inner = "\n".join(" " * depth + row.removeprefix("  ") for row in inner.split("\n"))
    end = "\n" + " " * indent if empty else ""
    content = ("" if empty else ",") + "\n" + inner + end
    if empty:
        # the object's brackets hold nothing but white space, which the new content replaces
        close = file.text.index("}", place.start)
        start = file.text.rindex("{", 0, close) + 1
        return Splice(FileSpan(start, close), content.replace("\n", file.newline))
    return Splice(place, content.replace("\n", file.newline))
