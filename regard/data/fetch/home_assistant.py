"""A real parallel corpus: the user interface of Home Assistant (Apache-2.0), translated by people, aligned by key."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.config import near
from regard.data.examples import Example
from regard.data.fetch.draft import draft_of, must_be_new
from regard.data.fetch.wheels import Notify, Wheel, cache_folder, open_wheel, wheels
from regard.data.files import write_pairs
from regard.data.languages import write_languages
from regard.data.splits import overlap
from regard.errors import UserError

PACKAGES = ("homeassistant", "home-assistant-frontend")
CORE = re.compile(r"homeassistant/components/(?P<group>\w+)/translations/(?P<language>[\w-]+)\.json")
FRONT = re.compile(r"hass_frontend/static/translations/(?:[\w-]+/)?(?P<language>[\w-]+)-[0-9a-f]{32}\.json")
PLACEHOLDER = re.compile(r"\{\s*(\w+)\s*\}")
CHOICE = re.compile(r"\{\s*(\w+)\s*,\s*(?:plural|select)")  # its braces hold words, too
HELD_OUT = 1000
LARGEST_HELD_OUT_GROUP = 200
LONGEST = 1000

Texts = dict[str, dict[str, str]]  # group → key → text


@dataclass(frozen=True)
class Fetched:
    """What was fetched, and how many texts were left out for which reason."""

    folder: Path
    train: int
    dev: int
    test: int
    dropped: dict[str, int]
    versions: dict[str, str]


def fetch_home_assistant(
    pair: str, folder: str | Path, notify: Notify = lambda _: None, cache: Path | None = None
) -> Fetched:
    """Makes a folder with train.tsv, dev.tsv, test.tsv and README.md; data.corpus takes that folder."""
    folder = Path(folder)
    must_be_new(folder)
    if "-" not in pair:
        raise UserError(f"--pair {pair!r} is not a pair; write two languages with a hyphen, as en-fr or en-pt-BR")
    packages = wheels(PACKAGES, (cache or cache_folder()) / "home-assistant", notify)
    source, target = _languages(pair, packages)
    dropped: Counter[str] = Counter()
    groups = align(texts(packages, source), texts(packages, target), dropped)
    notify(f"{sum(map(len, groups.values())):,} clean pairs in {len(groups)} groups of keys")
    splits = split(groups, dropped)
    if not splits["train"] or not splits["dev"] or not splits["test"]:
        raise UserError(f"--pair {pair}: only {sum(map(len, groups.values()))} clean pairs, too few to split")
    versions = {wheel.name: wheel.version for wheel in packages}
    train, dev, test = (len(splits[name]) for name in ("train", "dev", "test"))
    fetched = Fetched(folder, train, dev, test, dict(dropped), versions)
    with draft_of(folder) as draft:
        for name, rows in splits.items():
            write_pairs(draft / f"{name}.tsv", rows)
        write_languages(draft, source, target)
        (draft / "README.md").write_text(_readme(fetched, packages, source, target), encoding="utf-8")
    return fetched


def _languages(pair: str, packages: list[Wheel]) -> tuple[str, str]:
    """The pair cut at the hyphen that leaves two known languages: en-pt-BR is en and pt-BR."""
    known = sorted({language for wheel in packages for _, language, _ in _files(wheel)})
    parts = pair.replace("_", "-").split("-")
    cuts = [("-".join(parts[:n]), "-".join(parts[n:])) for n in range(1, len(parts))]
    for source, target in cuts:
        if source in known and target in known:
            if source == target:
                raise UserError(f"--pair {pair!r} names one language twice; name two")
            return source, target
    first, last = cuts[0]
    unknown = first if first not in known else last
    some = ", ".join(known[:: max(1, len(known) // 20)])
    raise UserError(f"--pair {pair!r}: no language {unknown!r}{near(unknown, known)}; there are {len(known)}: {some} …")


def _files(wheel: Wheel) -> Iterator[tuple[str, str, str]]:
    """(file, language, group of keys or "") of every translation in a wheel."""
    with open_wheel(wheel.path) as archive:
        for name in sorted(archive.namelist()):
            if match := CORE.fullmatch(name):
                yield name, match["language"], match["group"]
            elif match := FRONT.fullmatch(name):
                yield name, match["language"], ""


def texts(packages: list[Wheel], language: str) -> Texts:
    """Every text of a language by group and key: integrations of the core, sections of the frontend."""
    groups: Texts = {}
    for wheel in packages:
        names = [(name, group) for name, itself, group in _files(wheel) if itself == language]
        with open_wheel(wheel.path) as archive:
            for name, group in names:
                for key, text in _flat(_json(archive, name, wheel.path)):
                    groups.setdefault(group or _section(key), {})[key] = text
    return groups


def _section(key: str) -> str:
    """Of the frontend: ui.panel.config.automation, ui.dialogs.more_info, …"""
    depth = 4 if key.startswith(("ui.panel.config.", "ui.panel.lovelace.")) else 3
    return "frontend " + ".".join(key.split(".")[:depth])


def _json(archive: zipfile.ZipFile, name: str, path: Path) -> object:
    try:
        return json.loads(archive.read(name).decode("utf-8"))
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise UserError(f"{path}: {name} is damaged ({error}); delete {path.parent} and fetch again") from None


def _flat(tree: object, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, str):
        yield prefix, tree
    elif isinstance(tree, dict):
        for key, value in tree.items():
            yield from _flat(value, f"{prefix}.{key}" if prefix else str(key))


def align(sources: Texts, targets: Texts, dropped: Counter[str]) -> dict[str, list[Example]]:
    """Clean pairs by group, each pair once; what is left out is counted by reason."""
    groups: dict[str, list[Example]] = {}
    seen: set[Example] = set()
    for group in sorted(sources):
        translated = targets.get(group, {})
        for key, text in sources[group].items():
            if key not in translated:
                dropped["not translated"] += 1
                continue
            example = Example(" ".join(text.split()), " ".join(translated[key].split()))
            why = "a repeated pair" if example in seen else unclean(example)
            if why:
                dropped[why] += 1
                continue
            seen.add(example)
            groups.setdefault(group, []).append(example)
    return groups


def unclean(example: Example) -> str | None:
    """Why a pair is no translation to learn from, or None."""
    source, target = example.source, example.target
    if not source or not target:
        return "an empty side"
    if not any(map(str.isalpha, source)) or not any(map(str.isalpha, target)):
        return "no letters"
    if source == target:
        return "the same on both sides"
    if max(len(source), len(target)) > LONGEST:
        return f"more than {LONGEST} characters"
    if len(source) > 30 and not 1 / 4 <= len(target) / len(source) <= 4:
        return "lengths too different"
    if "[%key:" in source or "[%key:" in target:
        return "a reference to another text"
    if placeholders(source) != placeholders(target):
        return "different placeholders"
    return None


def placeholders(text: str) -> set[str]:
    return set(CHOICE.findall(text) or PLACEHOLDER.findall(text))


def split(groups: dict[str, list[Example]], dropped: Counter[str]) -> dict[str, list[Example]]:
    """Whole groups to test and dev until each has enough; the same groups for every pair of languages.

    What a held-out group shares with train (texts such as "Name") is dropped from it, so that no source is on both
    sides. Groups of more than 200 pairs train: a few of them would be all of the test.
    """
    owners = Counter(source for rows in groups.values() for source in {row.source for row in rows})
    order = sorted(groups, key=lambda group: hashlib.sha256(group.encode()).digest())
    small = min(HELD_OUT, sum(map(len, groups.values())) // 10)
    splits: dict[str, list[Example]] = {"test": [], "dev": [], "train": []}
    own = dict.fromkeys(splits, 0)
    for group in order:
        rows = groups[group]
        open_split = next((name for name in ("test", "dev") if own[name] < small), "train")
        name = open_split if len(rows) <= LARGEST_HELD_OUT_GROUP else "train"
        splits[name] += rows
        own[name] += sum(owners[row.source] == 1 for row in rows)
    for name, others in (("dev", ("train",)), ("test", ("train", "dev"))):
        taken = {row.source for other in others for row in splits[other]}
        kept = [row for row in splits[name] if row.source not in taken]
        dropped[f"in {name}, but its source is in {' or '.join(others)} too"] += len(splits[name]) - len(kept)
        splits[name] = kept
    assert not overlap(splits["train"], [*splits["dev"], *splits["test"]])
    return splits


def _readme(fetched: Fetched, packages: list[Wheel], source: str, target: str) -> str:
    used = "\n".join(f"- the PyPI package {w.name} {w.version}, licence {w.licence}" for w in packages)
    dropped = "\n".join(f"- {count:,}: {why}" for why, count in sorted(fetched.dropped.items(), key=lambda x: -x[1]))
    return (
        f"# Home Assistant, {source} to {target}\n\n"
        f"{fetched.train:,} training, {fetched.dev:,} development and {fetched.test:,} test pairs: source, TAB, "
        "target.\n\n"
        "The texts are the user interface of Home Assistant, by the Home Assistant authors and translators, aligned by "
        "key. Whole groups of keys (integrations, sections of the frontend) are held out; runs of whitespace became "
        f"one space.\n\nMade by `regard data fetch home-assistant --pair {source}-{target}` from\n\n{used}\n\n"
        f"The licence of the texts is that of the packages. Left out:\n\n{dropped}\n"
    )
