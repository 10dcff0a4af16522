"""A folder as one file: a zip with a list of its files, their sizes and checksums. It holds data, never code.

regard.json lists the name of the folder and, for each file, its bytes and its blake2b. Reading believes nothing else:
names, kinds, sizes and checksums are compared before anything has its place. Packing the same files gives the same zip.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import UserError
from regard.files import cannot_write, discard, part_of

SUFFIX = ".regard"
LIST, FORMAT = "regard.json", 1
KINDS = (".json", ".jsonl", ".toml", ".safetensors", ".svg", ".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif")
NAME = re.compile(r"[^/\\:\x00-\x1f]+(?:/[^/\\:\x00-\x1f]+)*")
MOST_LIST = 2**26  # bytes
CHUNK = 2**20
DATE = (2000, 1, 1, 0, 0, 0)  # of every file, so that the same run is the same zip


@dataclass(frozen=True)
class ListedFile:
    """What a file must be."""

    name: str
    bytes: int
    blake2b: str


def pack(folder: Path, names: Iterable[str], place: Path) -> int:
    """These files of the folder as one; returns its bytes."""
    files = [_listed(folder, name) for name in sorted(names)]
    record = {"format": FORMAT, "name": folder.resolve().name, "files": {one.name: _facts(one) for one in files}}
    part = part_of(place)
    try:
        with zipfile.ZipFile(part, "w") as archive:
            archive.writestr(zipfile.ZipInfo(LIST, DATE), json.dumps(record, indent=1), zipfile.ZIP_DEFLATED)
            for one in files:
                info = zipfile.ZipInfo(one.name, DATE)
                stored = one.name.endswith((".safetensors", ".png", ".jpg", ".jpeg", ".webp"))  # do not compress
                info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
                with (folder / one.name).open("rb") as source, archive.open(info, "w", force_zip64=True) as target:
                    shutil.copyfileobj(source, target, CHUNK)
        part.replace(place)
    except OSError as error:
        raise cannot_write(place, error) from None
    finally:
        discard(part)
    return place.stat().st_size


def opened(path: Path) -> Path:
    """The folder itself; of a packed one a folder in the cache, named by its content, where it is unpacked once."""
    if path.suffix != SUFFIX or not path.is_file():
        return path
    try:
        with zipfile.ZipFile(path) as archive:
            return _unpacked(archive, path)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, UnicodeDecodeError, RuntimeError) as error:
        raise _damaged(path, f"it is no whole zip ({error})") from None
    except OSError as error:
        raise UserError(f"{path} cannot be unpacked ({error.strerror or error}); make room, or allow it") from None


def cache() -> Path:
    """Where packed runs are unpacked."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard" / "runs"


def _unpacked(archive: zipfile.ZipFile, path: Path) -> Path:
    record = _record(archive, path)
    name, files = record["name"], [ListedFile(key, **facts) for key, facts in record["files"].items()]
    _compare(archive, files, path)
    digest = hashlib.blake2b(json.dumps(record, sort_keys=True).encode(), digest_size=16).hexdigest()
    place = cache() / digest
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f".{place.name}.{os.getpid()}.part")
        try:
            for one in files:
                _unpack(archive, one, part / name / one.name, path)
            part.replace(place)
        except OSError:
            if not place.is_dir():  # else another process was faster
                raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return place / name


def _record(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    """The list, whose shape is right."""
    try:
        info = archive.getinfo(LIST)
    except KeyError:
        raise _damaged(path, f"it has no {LIST}") from None
    if info.file_size > MOST_LIST:
        raise _damaged(path, f"its {LIST} is larger than {MOST_LIST:,} bytes")
    record: dict[str, Any] = {}
    try:
        record = json.loads(archive.read(info))
        if record["format"] != FORMAT:
            raise UserError(f"{path} has format {record['format']!r}, and this regard reads {FORMAT}; use a newer one")
        sound = all(
            set(facts) == {"bytes", "blake2b"} and isinstance(facts["bytes"], int) and isinstance(facts["blake2b"], str)
            for facts in record["files"].values()
        )
        sound = sound and _is_safe(record["name"]) and "/" not in record["name"]
    except (ValueError, KeyError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise _damaged(path, f"its {LIST} is not a list of files")
    return record


def _compare(archive: zipfile.ZipFile, files: list[ListedFile], path: Path) -> None:
    """Names and sizes in the zip are those of the list, and none leads out of the folder."""
    entries = {info.filename: info for info in archive.infolist()}
    if len(entries) != len(archive.infolist()) or entries.keys() != {LIST, *(one.name for one in files)}:
        raise _damaged(path, f"its files are not those of its {LIST}")
    for one in files:
        info = entries[one.name]
        if not _is_safe(one.name):
            raise _damaged(path, f"the name {one.name!r} would lead out of its folder")
        if not one.name.endswith(KINDS):
            raise _damaged(path, f"{one.name!r} is of a kind that no run has")
        if info.is_dir() or stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise _damaged(path, f"{one.name!r} is no ordinary file")
        if info.file_size != one.bytes:
            raise _damaged(path, f"{one.name!r} has {info.file_size:,} bytes, and {one.bytes:,} in the list")


def _unpack(archive: zipfile.ZipFile, file: ListedFile, place: Path, path: Path) -> None:
    """Byte by byte no more than the list allows, whatever the zip's header says."""
    place.parent.mkdir(parents=True, exist_ok=True)
    digest, left = hashlib.blake2b(digest_size=16), file.bytes
    with archive.open(file.name) as source, place.open("wb") as target:
        while data := source.read(CHUNK):
            left -= len(data)
            if left < 0:
                raise _damaged(path, f"{file.name!r} is larger than its list says")
            digest.update(data)
            target.write(data)
    if left or digest.hexdigest() != file.blake2b:
        raise _damaged(path, f"the checksum of {file.name!r} is wrong")


def _is_safe(name: object) -> bool:
    """A relative name that stays below its folder on every system."""
    return isinstance(name, str) and NAME.fullmatch(name) is not None and not {".", ".."} & set(name.split("/"))


def _listed(folder: Path, name: str) -> ListedFile:
    digest = hashlib.blake2b(digest_size=16)
    with (folder / name).open("rb") as file:
        while data := file.read(CHUNK):
            digest.update(data)
    return ListedFile(name, (folder / name).stat().st_size, digest.hexdigest())


def _facts(file: ListedFile) -> dict[str, Any]:
    return {"bytes": file.bytes, "blake2b": file.blake2b}


def _damaged(path: Path, reason: str) -> UserError:
    return UserError(f"{path} is not a packed run, or was changed: {reason}; pack the run again with `regard pack`")
