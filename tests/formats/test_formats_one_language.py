"""Files of one language: escapes, what is refused, and a translation beside its source."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_files import ANDROID, units_of

from regard.errors import UserError
from regard.formats.json_strings import JsonString, json_string, json_strings
from regard.formats.properties import properties_content, unescaped
from regard.formats.reading import read_pair, read_target_file
from regard.formats.text_file import TextFile
from regard.formats.unit import LanguagePair, LeftOut, Unit


def texts(folder: Path, name: str, content: str | bytes) -> list[tuple[str, str, str]]:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return [(unit.key, unit.plural, unit.source) for unit in units_of(path)]


def test_properties(tmp_path: Path) -> None:
    content = "a=1\n#c\n\nb : two\\\n  more\n c\\ d\te\\u00e9\\\\\nlast"
    found = texts(tmp_path, "a.properties", content.replace("\n", "\r\n"))
    assert found == [("a", "", "1"), ("b", "", "twomore"), ("c d", "", "eé\\"), ("last", "", "")]
    assert units_of(tmp_path / "a.properties")[1].notes == ("c",)
    assert texts(tmp_path, "a.properties", "a=é".encode("latin-1")) == [("a", "", "é")]
    assert properties_content(" é\n😀\\", "ascii") == "\\ \\u00E9\\n\\uD83D\\uDE00\\\\"
    assert unescaped(properties_content("é😀", "ascii")) == "é😀"


def test_apple_strings(tmp_path: Path) -> None:
    content = '/* a\nb */ "k\\"" = "v\\n\\U00e9";// c\nbare.key="";'
    expected = [('k"', "", "v\né"), ("bare.key", "", "")]
    assert texts(tmp_path, "a.strings", content) == expected
    assert texts(tmp_path, "a.strings", content.encode("utf-16")) == expected


def test_android_escapes(tmp_path: Path) -> None:
    resources = '<resources><string name="a">{}</string></resources>'
    for written, read in (
        ("it\\'s", "it's"),
        ("  a\n   b  ", "a b"),
        ('"  a  "', "  a  "),
        ("\\@x \\? \\u00e9\\n", "@x ? é\n"),
        ("<![CDATA[<b>x</b>]]>", "<b>x</b>"),
    ):
        assert texts(tmp_path, "strings.xml", resources.format(written)) == [("a", "", read)]
    assert units_of(tmp_path / "strings.xml")[0].native == {}
    texts(tmp_path, "strings.xml", resources.format("@string/other"))
    assert units_of(tmp_path / "strings.xml")[0].state == "protected"


json_values = st.recursive(
    st.one_of(
        st.text(max_size=5), st.integers(), st.floats(allow_nan=False, allow_subnormal=False), st.booleans(), st.none()
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(json_values, st.sampled_from([None, 2]), st.booleans())
def test_json_strings_are_all_found_in_their_places(value: object, indent: int | None, ascii_only: bool) -> None:
    import json

    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = [item for item in json_strings(TextFile("a.json", text, "utf-8")) if isinstance(item, JsonString)]

    def inside(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], str]]:
        if isinstance(value, str):
            return [(path, value)]
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        return [pair for key, inner in items for pair in inside(inner, (*path, key))]

    assert [(item.path, item.value) for item in found] == inside(value)
    for item in found:
        assert json.loads(text[item.span.start : item.span.end]) == item.value
        assert json.loads(json_string(item.value)) == item.value


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", '{"a": "x",\n"a": "y"}', "a.json:2: the key 'a' is there twice"),
        ("a.json", '{"a": "x"', "a.json:1: not JSON: it is cut off"),
        ("a.json", '{"a": "x\n"}', "a.json:1: not JSON: a string without its end"),
        ("a.json", '{"a" "x"}', "where a colon is due"),
        ("a.json", '{"a": "x" "b"}', "where a comma is due"),
        ("a.json", '{"a": "x",}', "'}' where a key is due"),
        ("a.json", '["a", ]', "not JSON: ']'"),
        ("a.json", '{"a": nul}', "not JSON: 'nul'"),
        ("a.json", '["a"}', "'}' where ']' is due"),
        ("a.json", "{} {}", "text after the end"),
        ("a.json", "[" * 100_000, "nested more than 200 deep"),
        ("a.properties", "a=1\na=2", "a.properties:2: the key 'a' is there twice"),
        ("a.strings", '"a" = "b"', 'a.strings:1: \'"a" = "b"\' is no'),
        ("a.strings", '"a"="b";\n"a"="c";', "a.strings:2: the key 'a' is there twice"),
        ("strings.xml", "<a/>", "no <resources> at its start"),
        ("strings.xml", "<resources><string>a</string></resources>", "<string> has no name"),
        ("a.xml", '<resources><string name="a"/>\n<string name="a"/></resources>', "a.xml:2: a second resource 'a'"),
        ("a.stringsdict", "<a/>", "no <plist> at its start"),
        ("a.json", b'{"a": "\xff"}', "a.json:1: byte 0xFF is not utf-8"),
    ],
)
def test_bad_files_are_refused_with_their_line(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(UserError) as error:
        texts(tmp_path, name, content)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_translation_stands_beside_its_source(tmp_path: Path) -> None:
    (tmp_path / "en.xml").write_text(ANDROID)
    (tmp_path / "fr.xml").write_text(
        '<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2"><plurals name="files">'
        '<item quantity="many"><xliff:g id="n" example="2">%d</xliff:g> de fichiers</item>'
        '<item quantity="other">fichiers <b>x</b> <xliff:g id="n" example="2">%d</xliff:g></item></plurals>'
        '<string name="new">Nouveau</string></resources>'
    )
    units = list(read_pair(tmp_path / "en.xml", tmp_path / "fr.xml"))
    found = {(u.key, u.plural): (u.source, u.target) for u in units if isinstance(u, Unit) and u.target}
    assert found == {
        ("files", "other"): ("<g1>%d</g1> files", "fichiers <g2>x</g2> <g1>%d</g1>"),
        ("files", "many"): ("<g1>%d</g1> files", "<g1>%d</g1> de fichiers"),
    }
    assert [unit.why for unit in units if isinstance(unit, LeftOut)] == ["no text with this key in the source"]
    filling = read_target_file(tmp_path / "en.xml", tmp_path / "fr.xml", LanguagePair())
    assert sum(isinstance(unit, LeftOut) for unit in filling) == 2
