"""Packages from the npm registry, kept in the user's cache. They are read as archives: nothing is installed or run."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.data.fetch.wheels import Notify
from regard.errors import UserError
from regard.files import cannot_write, write_bytes

REGISTRY = "https://registry.npmjs.org"
TIMEOUT_SECONDS = 60
LARGEST = 300_000_000  # bytes of a package, and of what is read of it


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    licence: str
    path: Path  # of its archive


def package(name: str, folder: Path, notify: Notify) -> Package:
    """The one in the folder, or else the newest from the registry, put there when its checksum is right."""
    note, archive = folder / f"{name}.json", folder / f"{name}.tgz"
    if not (note.is_file() and archive.is_file()):
        about = _about(name)
        notify(f"downloading {name} {about['version']} from {_registry()}")
        data = _get(about["tarball"])
        _check(name, data, about["integrity"])
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(folder, error) from None
        write_bytes(archive, data)
        write_bytes(note, json.dumps(about).encode())
    try:
        stored = json.loads(note.read_bytes())
        return Package(name, stored["version"], stored["licence"], archive)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{note} is damaged ({error}); delete {folder} and fetch again") from None


def members(source: Package, wanted: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """(name, content) of each file whose path inside the package begins with one of these."""
    bytes_read = 0
    try:
        with tarfile.open(source.path, "r:gz") as archive:
            for member in archive:
                name = member.name.removeprefix("package/")
                file = archive.extractfile(member) if member.isfile() and name.startswith(wanted) else None
                if file is not None:
                    bytes_read += member.size
                    if bytes_read > LARGEST:
                        raise UserError(
                            f"{source.path}: more than {LARGEST:,} bytes to read; it is not what it should be"
                        )
                    yield name, file.read()
    except (tarfile.TarError, OSError, EOFError) as error:
        raise UserError(f"{source.path} is damaged ({error}); delete {source.path.parent} and fetch again") from None


def _about(name: str) -> dict[str, str]:
    """What the registry says of the newest version."""
    try:
        entry: dict[str, Any] = json.loads(_get(f"{_registry()}/{name}/latest"))
        dist = entry["dist"]
        return {
            "version": str(entry["version"]),
            "licence": str(entry.get("license", "unknown")),
            "tarball": str(dist["tarball"]),
            "integrity": str(dist["integrity"]),
        }
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{_registry()} says nothing useful of {name} ({error!r}); check NPM_CONFIG_REGISTRY") from None


def _registry() -> str:
    return (os.environ.get("NPM_CONFIG_REGISTRY") or REGISTRY).rstrip("/")


def _get(address: str) -> bytes:
    if not address.startswith(("https://", "http://")):
        raise UserError(f"{address} is no address of the web; check NPM_CONFIG_REGISTRY")
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT_SECONDS) as answer:
            data = answer.read(LARGEST + 1)
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise UserError(f"{address} cannot be fetched ({error}); check the network, or NPM_CONFIG_REGISTRY") from None
    if len(data) > LARGEST:
        raise UserError(f"{address} has more than {LARGEST:,} bytes; it is not what it should be")
    return data


def _check(name: str, data: bytes, integrity: str) -> None:
    expected = dict(entry.split("-", 1) for entry in integrity.split() if "-" in entry).get("sha512", "")
    if base64.b64encode(hashlib.sha512(data).digest()).decode() != expected:
        raise UserError(f"{name}: the checksum of the download is wrong; fetch again")
