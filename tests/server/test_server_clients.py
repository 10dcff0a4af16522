"""Published clients of LibreTranslate as black boxes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest


def test_libretranslatepy(live: Any) -> None:
    from libretranslatepy import LibreTranslateAPI

    client = LibreTranslateAPI(live.url + "/")
    assert client.translate("abc", "en", "es") == "abc"
    assert {language["code"] for language in client.languages()} == {"en", "es"}
    assert client.detect("Frankreich")[0].keys() == {"confidence", "language"}


def test_deep_translator(live: Any) -> None:
    from deep_translator import LibreTranslator

    client = LibreTranslator(source="en", target="es", custom_url=live.url + "/", api_key="any")
    assert client.translate("abc") == "abc"
    assert client.translate_batch(["ab", "ba"]) == ["ab", "ba"]


NODE = """
import { libreTranslate } from "libretranslate-ts";
import translate from "translate";
const url = process.argv[2];
libreTranslate.setApiEndpoint(url);
const first = await libreTranslate.translate("abc", "en", "es");
const detected = await libreTranslate.detect("Frankreich");
translate.engine = "libre"; translate.url = url + "/translate"; translate.key = "any"; translate.from = "en";
console.log(JSON.stringify([first.translatedText, typeof detected.confidence, await translate("abc", "es")]));
"""


@pytest.mark.slow
def test_npm_clients(live: Any, tmp_path: Path) -> None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are needed")
    command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "translate@3.1.0", "libretranslate-ts@0.5.12"]
    if subprocess.run(command, cwd=tmp_path, check=False, timeout=300).returncode:
        pytest.skip("the npm packages cannot be downloaded here")
    (tmp_path / "ask.mjs").write_text(NODE)
    done = subprocess.run(["node", "ask.mjs", live.url], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout or "null") == ["abc", "number", "abc"], done.stderr
