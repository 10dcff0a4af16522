"""Packed runs: the same run again, from one file; nothing that was changed or leads out of its folder is unpacked."""

from __future__ import annotations

import json
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from regard import load
from regard.archive import LIST, opened, pack
from regard.checkpoint import pack_run
from regard.cli import main
from regard.errors import UserError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    (folder / "data").mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    (folder / "data" / "dev.jsonl").write_text("a\n" * 500)
    pack(folder, ["run.json", "data/dev.jsonl"], tmp_path / "run.regard")
    return tmp_path / "run.regard"


def unpacked_files(tmp_path: Path) -> list[Path]:
    return [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]


def test_what_is_packed_comes_back(packed: Path, tmp_path: Path) -> None:
    folder = opened(packed)
    assert folder.name == "run" and folder.is_relative_to(tmp_path / "cache")
    assert (folder / "data" / "dev.jsonl").read_text() == "a\n" * 500
    again = tmp_path / "again.regard"
    pack(tmp_path / "run", ["data/dev.jsonl", "run.json"], again)
    assert again.read_bytes() == packed.read_bytes() and opened(again) == folder
    assert opened(tmp_path / "run") == tmp_path / "run"


def rewritten(packed: Path, change: Callable[[dict[str, bytes]], None], mode: int = 0) -> Path:
    """The same zip, its members changed; `mode`: of every file."""
    with zipfile.ZipFile(packed) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (mode if name != LIST else 0) << 16
            archive.writestr(info, content)
    return packed


def rename(to: str) -> Callable[[dict[str, bytes]], None]:
    """run.json under another name, in the list too."""

    def change(members: dict[str, bytes]) -> None:
        record = json.loads(members[LIST])
        record["files"][to] = record["files"].pop("run.json")
        members[LIST], members[to] = json.dumps(record).encode(), members.pop("run.json")

    return change


@pytest.mark.parametrize(
    "name", ["../evil.json", "data/../../evil.json", "/tmp/evil.json", "C:\\evil.json", "a\\b.json"]
)
def test_no_name_leads_out(name: str, packed: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="would lead out of its folder"):
        opened(rewritten(packed, rename(name)))
    assert not unpacked_files(tmp_path)


def test_links_and_programs_are_refused(packed: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="of a kind that no run has"):
        opened(rewritten(packed, rename("setup.py")))
    pack(tmp_path / "run", ["run.json"], packed)
    with pytest.raises(UserError, match="no ordinary file"):
        opened(rewritten(packed, lambda members: None, stat.S_IFLNK | 0o777))
    assert not unpacked_files(tmp_path)


def test_changed_content_is_refused(packed: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"checksum of 'run\.json' is wrong"):
        opened(rewritten(packed, lambda members: members.update({"run.json": b"[]"})))
    assert not unpacked_files(tmp_path)
    with pytest.raises(UserError, match="has 3 bytes, and 2 in the list"):
        opened(rewritten(packed, lambda members: members.update({"run.json": b"[1]"})))
    with pytest.raises(UserError, match=r"its files are not those of its regard\.json"):
        opened(rewritten(packed, lambda members: members.update({"more.json": b""})))


@pytest.mark.parametrize("text", ["[]", '{"format": 1}', '{"format": 1, "name": "..", "files": {}}', "\xff"])
def test_a_list_that_is_none_is_refused(text: str, packed: Path) -> None:
    with pytest.raises(UserError, match="is not a list of files"):
        opened(rewritten(packed, lambda members: members.update({LIST: text.encode("latin-1")})))


def test_a_zip_whose_header_lies_is_cut_off(packed: Path, tmp_path: Path) -> None:
    """A member says that it has two bytes and inflates to a million."""
    with zipfile.ZipFile(packed) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content if name != "run.json" else b"0" * 1_000_000)
    data = bytearray(packed.read_bytes())
    size = (1_000_000).to_bytes(4, "little")
    while (at := data.find(size)) >= 0:
        data[at : at + 4] = (2).to_bytes(4, "little")
    packed.write_bytes(data)
    with pytest.raises(UserError, match="not a packed run, or was changed"):
        opened(packed)
    assert not unpacked_files(tmp_path)


def test_no_zip_and_half_a_zip_are_refused(packed: Path) -> None:
    data = packed.read_bytes()
    for content in (b"", b"nothing", data[: len(data) // 2]):
        packed.write_bytes(content)
        with pytest.raises(UserError, match="is not a packed run"):
            opened(packed)


def test_every_verb_takes_a_packed_run(
    translator_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Path(shutil.copytree(translator_run, tmp_path / "letters"))
    assert main(["pack", str(run)]) == 0
    place = tmp_path / "letters.regard"
    assert "letters.regard" in capsys.readouterr().err and place.stat().st_size < 2e6
    text = load(run).examples("test")[0].source
    said = load(run, threads=1).translate(text).text
    shutil.rmtree(run)
    assert load(place, threads=1).translate(text).text == said and load(place).run.path.name == "letters"
    for words in (
        ["describe", str(place)],
        ["verify", str(place)],
        ["evaluate", str(place)],
        ["translate", str(place), text],
    ):
        assert main(words) == 0
    assert said in capsys.readouterr().out
    assert main(["evaluate", str(place), "--save"]) == 2 and "is packed" in capsys.readouterr().err
    assert main(["pack", str(place)]) == 2


def test_a_place_that_is_taken_or_has_another_name_is_refused(translator_run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"ends in \.regard"):
        pack_run(translator_run, tmp_path / "run.zip")
    (tmp_path / "run.regard").write_text("")
    with pytest.raises(UserError, match="exists already"):
        pack_run(translator_run, tmp_path / "run.regard")
