"""The npm registry: what is kept, and its answers, good and bad."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from regard.data.fetch import npm
from regard.errors import UserError


def archive(files: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return file.getvalue()


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "thing.tgz"
    path.write_bytes(archive({"a.txt": b"hello" * 100})[:60])
    (tmp_path / "thing.json").write_text(json.dumps({"version": "1", "licence": "MIT"}))
    found = npm.package("thing", tmp_path, lambda _: None)
    with pytest.raises(UserError, match=r"thing\.tgz is damaged"):
        list(npm.members(found, ("a",)))


def test_a_package_is_kept_only_if_its_checksum_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = archive({"a.txt": b"hello"})
    right = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    answer = {"version": "3", "license": "MIT", "dist": {"tarball": "https://x/y.tgz", "integrity": right}}
    monkeypatch.setattr(npm, "_get", lambda address: data if address.endswith(".tgz") else json.dumps(answer).encode())
    found = npm.package("thing", tmp_path / "shelf", lambda _: None)
    assert (found.version, found.licence) == ("3", "MIT")
    assert list(npm.members(found, ("a",))) == [("a.txt", b"hello")]
    answer["dist"]["integrity"] = "sha512-wrong"
    with pytest.raises(UserError, match="the checksum of the download is wrong"):
        npm.package("other", tmp_path / "shelf", lambda _: None)
    assert not (tmp_path / "shelf" / "other.tgz").exists()


def test_no_network_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "http://127.0.0.1:9/")
    with pytest.raises(UserError, match=r"http://127.0.0.1:9/thing/latest cannot be fetched .*check the network"):
        npm.package("thing", tmp_path, lambda _: None)
