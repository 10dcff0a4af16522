"""Which files of a folder are translations of each other, by the language codes in their names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from regard.formats.unit import LanguagePair

# What a name without a language is to one with it: values/ and values-fr/, app.properties and app_fr.properties,
# Base.lproj and fr.lproj.
_DEFAULTS = (("-{}", ""), ("_{}", ""), (".{}", ""), ("{}.lproj", "Base.lproj"))


@dataclass(frozen=True)
class Grouped:
    """Pairs (source file, target file) of files of one language, and the files that are in no pair."""

    pairs: tuple[tuple[Path, Path], ...]
    alone: tuple[Path, ...]


def group_by_language(folder: Path, files: Iterable[Path], languages: LanguagePair) -> Grouped:
    """Each file of the target language with the file of the source language that has the same name but for that."""
    paths = sorted(files)
    names = {path: path.relative_to(folder).as_posix() for path in paths}
    sources: dict[str, Path] = {}
    for path in paths:
        pattern = without_language(names[path], languages.source or "")
        if pattern is not None:
            sources.setdefault(pattern, path)
    plain = {names[path]: path for path in paths}
    pairs, used = [], set()
    for path in paths:
        pattern = without_language(names[path], languages.target or "")
        if pattern is None:
            continue
        defaults = [pattern.replace(coded, default) for coded, default in _DEFAULTS if coded in pattern]
        source = sources.get(pattern) or next((plain[name] for name in defaults if name in plain), None)
        if source is not None and source != path:
            pairs.append((source, path))
            used |= {source, path}
    return Grouped(tuple(pairs), tuple(path for path in paths if path not in used))


def without_language(name: str, language: str) -> str | None:
    """locales/fr-CA/app.json → locales/{}/app.json; None where the name has no such language."""
    if not language:
        return None
    code = re.escape(language).replace("\\-", "[-_]r?")
    pattern = re.compile(rf"(?<![A-Za-z0-9]){code}(?:[-_]r?[A-Za-z0-9]{{2,8}})?(?![A-Za-z0-9])", re.IGNORECASE)
    replaced, count = pattern.subn("{}", name)
    return replaced if count else None
