from __future__ import annotations

import platform
from pathlib import Path

import ctranslate2
import torch
from _machine import CPUINFO, machine, processor


def test_the_header_names_the_processor_and_the_versions() -> None:
    line = machine("ctranslate2")
    assert processor() in line and " cores, " in line
    assert f"Python {platform.python_version()}" in line
    assert f"torch {torch.__version__}" in line and f"ctranslate2 {ctranslate2.__version__}" in line
    assert "ctranslate2" not in machine()


def test_the_processor_is_the_first_model_name(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\nmodel\t\t: 17\nmodel name\t: Slow 3000\n\nmodel name\t: Other\n", encoding="utf-8")
    assert processor(file) == "Slow 3000"


def test_without_a_model_name_the_kind_stands(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\n", encoding="utf-8")
    assert processor(file) == processor(tmp_path / "none") == (platform.processor() or platform.machine())
    assert processor(), f"{CPUINFO} and platform say nothing"
