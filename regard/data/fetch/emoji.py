"""Emoji and their names: images by three artists to learn from, by a fourth to be tested on; names in many languages.

The images are as packed by emoji-data (MIT). Noto Emoji by Google (Apache-2.0) and Twemoji by Twitter and others (CC-BY
4.0) are free, those of Apple and Facebook are not: the folder's README says so. The names are those of Unicode's CLDR
(Unicode-3.0).
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from regard.config import near
from regard.data.examples import Example
from regard.data.fetch.draft import draft_of, must_be_new
from regard.data.fetch.home_assistant import Fetched
from regard.data.fetch.npm import Package, members, package
from regard.data.fetch.wheels import Notify, cache_folder
from regard.data.files import write_pairs
from regard.errors import UserError

ARTISTS = {
    "google": "Noto Emoji by Google, Apache-2.0",
    "apple": "Apple Color Emoji, copyright of Apple, not free: for your own experiments only",
    "facebook": "emoji of Facebook, copyright of Meta, not free: for your own experiments only",
    "twitter": "Twemoji by Twitter and others, CC-BY 4.0",
}
*LEARNT, TESTED = ARTISTS
NAMES = "cldr-annotations-full"
DEV = 4  # every so many of the last artist's pictures is for development
Names = dict[str, dict[str, str]]  # language → emoji → name


def fetch_emoji(
    languages: str, folder: str | Path, notify: Notify = lambda _: None, cache: Path | None = None
) -> Fetched:
    """Makes a folder with pictures, train.tsv, dev.tsv, test.tsv and README.md; data.corpus takes that folder."""
    folder = Path(folder)
    must_be_new(folder)
    wanted = [language.strip() for language in languages.split(",") if language.strip()]
    cache_directory = (cache or cache_folder()) / "emoji"
    packages = {artist: package(f"emoji-datasource-{artist}", cache_directory, notify) for artist in ARTISTS}
    cldr = package(NAMES, cache_directory, notify)
    names = _names(cldr, wanted)
    notify("reading the pictures")
    emoji = _emoji(packages[TESTED])
    named = {
        image: character
        for image, character in emoji.items()
        if all(character in names[language] for language in wanted)
    }
    pictures = {artist: _pictures(source, artist) for artist, source in packages.items()}
    shown = sorted(image for image in named if all(image in pictures[artist] for artist in ARTISTS))
    if len(shown) < 2 * DEV:
        raise UserError(
            f"{cache_directory}: only {len(shown)} emoji have pictures and names; delete that folder and fetch again"
        )
    splits = _splits(shown, named, names)
    missing = len(named) - len(shown)
    dropped = {"no name in every language": len(emoji) - len(named), "no picture by all artists": missing}
    versions = {source.name: source.version for source in (*packages.values(), cldr)}
    train, dev, test = (len(splits[split]) for split in ("train", "dev", "test"))
    fetched = Fetched(folder, train, dev, test, dropped, versions)
    with draft_of(folder) as draft:
        for artist in ARTISTS:
            (draft / artist).mkdir()
            for image in shown:
                (draft / artist / image).write_bytes(pictures[artist][image])
        for split, rows in splits.items():
            write_pairs(draft / f"{split}.tsv", rows)
        (draft / "README.md").write_text(_readme(fetched, wanted, [*packages.values(), cldr]), encoding="utf-8")
    return fetched


def _splits(shown: list[str], named: dict[str, str], names: Names) -> dict[str, list[Example]]:
    """All pictures of the first artists train; those of the last are dev or test, by a digest of their name."""
    splits: dict[str, list[Example]] = {"train": [], "dev": [], "test": []}
    for image in shown:
        held = "dev" if hashlib.sha256(image.encode()).digest()[0] % DEV == 0 else "test"
        for artist, split in (*((artist, "train") for artist in LEARNT), (TESTED, held)):
            for language, known in names.items():
                word = f"#{language}" if len(names) > 1 else ""
                splits[split].append(Example(f"{artist}/{image}{word}", known[named[image]]))
    return splits


def _emoji(source: Package) -> dict[str, str]:
    """File name of the picture → the emoji, without skin tones."""
    _, content = next(members(source, ("emoji.json",)), ("", b"[]"))
    try:
        entries: list[dict[str, Any]] = json.loads(content)
        return {entry["image"]: _plain(_character(entry["unified"])) for entry in entries}
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{source.path}: emoji.json is not as expected ({error!r}); delete it and fetch again"
        ) from None


def _character(unified: str) -> str:
    """1F468-200D-1F373 → the emoji."""
    return "".join(chr(int(code, 16)) for code in unified.split("-"))


def _plain(emoji: str) -> str:
    """CLDR's emoji are without the variation selector for colour."""
    return emoji.replace("\ufe0f", "")


def _pictures(source: Package, artist: str) -> dict[str, bytes]:
    return {Path(name).name: content for name, content in members(source, (f"img/{artist}/64/",))}


def _names(source: Package, wanted: list[str]) -> Names:
    annotations = {
        name.split("/")[1]: content for name, content in members(source, ("annotations/",)) if name.count("/") == 2
    }
    names: Names = {}
    for language in wanted:
        if language not in annotations:
            some = ", ".join(sorted(annotations)[:: max(1, len(annotations) // 20)])
            hint = near(language, annotations)
            raise UserError(f"--languages: no {language!r}{hint}; there are {len(annotations)}: {some} …")
        entries = json.loads(annotations[language])["annotations"]["annotations"]
        spoken = {emoji: entry["tts"][0] for emoji, entry in entries.items() if entry.get("tts")}
        names[language] = {_plain(emoji): " ".join(name.split()) for emoji, name in spoken.items()}
    if not names:
        raise UserError("--languages names none; write them with commas, as en,fr,de")
    return names


def _readme(fetched: Fetched, languages: list[str], packages: list[Package]) -> str:
    artists = "\n".join(f"- `{artist}/`: {about}" for artist, about in ARTISTS.items())
    used = "\n".join(
        f"- the npm package {package.name} {package.version}, licence {package.licence}" for package in packages
    )
    return (
        f"# Emoji, named in {', '.join(languages)}\n\n{fetched.train:,} training, {fetched.dev:,} development and "
        f"{fetched.test:,} test pairs: picture, TAB, name. Where there are several languages, # and the language stand "
        f"after the picture's name. All of {TESTED}/ is for development and test, the others are for training.\n\n"
        f"{artists}\n\nThe names are Unicode's (CLDR), under the Unicode licence. Made by `regard data fetch emoji "
        f"--languages {','.join(languages)}` from\n\n{used}\n"
    )
