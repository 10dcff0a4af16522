"""The suites of OASIS and LISA: REGARD_L10N names a folder with tmx/, xliff-12/, xliff-21/ and xliff-22/."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from sample_files import XLIFF1, XLIFF2, fill_all, units_of

from regard.errors import UserError
from regard.formats.reading import languages_of
from regard.formats.unit import Filling, LanguagePair
from regard.formats.writing import filled

SUITE = os.environ.get("REGARD_L10N")
needs_suite = pytest.mark.skipif(SUITE is None, reason="REGARD_L10N does not name the conformance files")
CORE = Path(SUITE or "") / "xliff-22" / "test-suite" / "core"
W3C_XML = "xliff-21/schemas/informativeCopiesOf3rdPartySchemas/w3c/xml.xsd"


@needs_suite
def test_the_tmx_compliance_kit() -> None:
    files = sorted((Path(SUITE or "") / "tmx").glob("*.tmx"))
    assert len(files) == 12
    for path in files:
        assert units_of(path), path.name
        assert filled(path, [], LanguagePair("en", "fr")) == path.read_bytes()


@needs_suite
def test_valid_xliff_2_is_read_and_written_back(tmp_path: Path) -> None:
    files = sorted((CORE / "valid").glob("*.xlf"))
    assert len(files) == 25
    for path in files:
        units = units_of(path, LanguagePair())
        assert filled(path, [], LanguagePair()) == path.read_bytes()
        languages = LanguagePair(languages_of(path)[0], languages_of(path)[1] or "fr")
        open_units = [unit for unit in units if unit.state == "untranslated" and unit.source.strip()]
        fillings = [Filling(unit, unit.source, "machine", review=True, note="a note") for unit in open_units]
        copy = tmp_path / path.name
        copy.write_bytes(filled(path, fillings, languages))
        again = {unit.key: unit for unit in units_of(copy, LanguagePair())}
        assert all(again[unit.key].target.strip() == unit.source.strip() for unit in open_units), path.name


@needs_suite
@pytest.mark.parametrize("path", sorted((CORE / "invalid").glob("*.xlf")), ids=lambda path: path.stem)
def test_invalid_xliff_2_is_refused(path: Path) -> None:
    with pytest.raises(UserError) as error:
        units_of(path, LanguagePair())
    assert re.match(rf"{re.escape(str(path))}:\d+: ", str(error.value))


def validate(xml: Path, schema: str, folder: Path) -> None:
    """By xmllint, with the schema of xml:lang beside it."""
    xmllint = shutil.which("xmllint")
    if xmllint is None:
        pytest.skip("xmllint is not installed")
    local = (Path(SUITE or "") / W3C_XML).absolute().as_uri()
    catalog = folder / "catalog.xml"
    catalog.write_text(
        '<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">'
        f'<system systemId="http://www.w3.org/2001/xml.xsd" uri="{local}"/></catalog>'
    )
    words = [xmllint, "--noout", "--nonet", "--schema", str(Path(SUITE or "") / schema), str(xml)]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "XML_CATALOG_FILES": str(catalog)})
    assert done.returncode == 0, done.stderr


@needs_suite
def test_what_is_written_is_valid(tmp_path: Path) -> None:
    first, second = tmp_path / "a.xlf", tmp_path / "b.xlf"
    first.write_text(XLIFF1)
    second.write_text(XLIFF2.replace("2.1", "2.2").replace("document:2.1", "document:2.2"))
    for path, schema in (
        (first, "xliff-12/xliff-core-1.2-strict.xsd"),
        (second, "xliff-22/schemas/xliff_core_2.2.xsd"),
    ):
        path.write_bytes(fill_all(path, lambda unit: unit.source))
        validate(path, schema, tmp_path)
