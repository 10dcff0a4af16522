"""--help prints the settings that people need, --help-all every one, and how each is chosen where it is left open."""

from __future__ import annotations

import re

import pytest

from regard.cli import main
from regard.cli.help import COMMON
from regard.config import Settings
from regard.config.section import how_chosen

ALL = {
    f"--{name}.{key.replace('_', '-')}": (section.get_default().__class__, key)
    for name, section in Settings.model_fields.items()
    for key in section.get_default().__class__.model_fields
}


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """No entry needs a second line."""
    monkeypatch.setenv("COLUMNS", "400")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def settings_in(text: str) -> set[str]:
    return {flag for flag in re.findall(r"^│ +(--[\w.-]+)", text, re.MULTILINE) if "." in flag}


@pytest.mark.parametrize("verb", ["train", "compare"])
def test_help_is_short_and_help_all_is_whole(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    short = printed(capsys, verb, "--help")
    assert settings_in(short) == COMMON and len(COMMON) <= 22
    assert "--help-all prints every setting." in short and "--out" in short
    every = printed(capsys, verb, "--help-all")
    assert settings_in(every) == ALL.keys()
    assert "--help-all" not in every
    assert settings_in(printed(capsys, verb, "--help")) == COMMON, "the verb is as it was"


def test_an_open_field_says_how_it_is_chosen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = re.sub(r"[│\s]+", " ", printed(capsys, "train", "--help-all"))
    for flag, (section, key) in ALL.items():
        how = how_chosen(section, key)
        if how is not None:
            assert section.model_fields[key].get_default() is None, key
            assert f"(default: {how})" in text, flag


@pytest.mark.parametrize("words", [("translate",), ("evaluate",), ("look",), ("look", "tree"), ("look", "ablation")])
def test_search_flags_default_to_the_runs_own(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    text = printed(capsys, *words, "--help")
    lines = [line for line in text.splitlines() if re.match(r"│ +--(beams|length-penalty|batch-tokens) ", line)]
    assert len(lines) == 3 and all("[default: the run's]" in line for line in lines)


def test_common_settings_are_settings() -> None:
    assert ALL.keys() >= COMMON
