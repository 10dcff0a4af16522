"""Small files in every format, and how the tests read and fill them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from regard.formats.reading import read_units
from regard.formats.unit import Filling, LanguagePair, LeftOut, Unit
from regard.formats.writing import filled

EN_FR = LanguagePair("en", "fr")

PO = r"""# Translators' comment
msgid ""
msgstr ""
"Language: fr\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\n"

#. For the button
#: main.c:1
msgctxt "menu"
msgid "Save"
msgstr "Enregistrer"

#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

#, fuzzy
#| msgid "Quit"
msgid "Quit "
"now"
msgstr "Quitter"

#: main.c:7
msgid "A \"quoted\"\ttext"
msgstr ""

#~ msgid "Old"
#~ msgstr "Vieux"
"""

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en" segtype="sentence" o-tmf="x" adminlang="en" datatype="html"
 creationtool="x" creationtoolversion="1"/>
<body>
 <tu tuid="1"><tuv xml:lang="en-US"><seg>Click <bpt i="1">&lt;b></bpt>here<ept i="1">&lt;/b></ept>&amp;</seg></tuv>
  <tuv xml:lang="fr"><seg>Cliquez <bpt i="1">&lt;b></bpt>ici<ept i="1">&lt;/b></ept>&amp;</seg></tuv></tu>
 <tu><tuv xml:lang="en"><seg>Only <ph x="1">&lt;br/></ph>English</seg></tuv></tu>
</body></tmx>
"""

XLIFF1 = """<?xml version="1.0" encoding="utf-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file original="a.html" source-language="en" target-language="fr" datatype="html">
    <body>
      <trans-unit id="1" approved="yes">
        <source>Hello</source>
        <target state="final">Bonjour</target>
      </trans-unit>
      <trans-unit id="2">
        <source>A <g id="b" ctype="bold">bold</g> word<x id="br"/>, a &lt;g1&gt;</source>
      </trans-unit>
      <trans-unit id="3">
        <source>To do</source>
        <target xml:space='preserve'/>
        <note>Keep it short</note>
      </trans-unit>
      <trans-unit id="4" translate="no"><source>regard</source></trans-unit>
    </body>
  </file>
</xliff>
"""

XLIFF2 = """<?xml version="1.0" encoding="utf-8"?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:2.1" version="2.1" srcLang="en">
  <file id="f">
    <unit id="1">
      <originalData>
        <data id="d1">&lt;br/&gt;</data>
      </originalData>
      <segment id="s1">
        <source>A <pc id="1">bold</pc> word<ph id="2" dataRef="d1"/></source>
      </segment>
      <ignorable>
        <source> </source>
      </ignorable>
      <segment state="initial">
        <source><sc id="3"/>Two</source>
      </segment>
    </unit>
    <unit id="2" translate="no"><segment><source>regard</source></segment></unit>
  </file>
</xliff>
"""

SAMPLES = {"a.po": PO, "a.tmx": TMX, "a.1.xlf": XLIFF1, "a.2.xlf": XLIFF2}


def units_of(path: Path, languages: LanguagePair = EN_FR) -> list[Unit]:
    return [unit for unit in read_units(path, languages) if isinstance(unit, Unit)]


def left_out(path: Path, languages: LanguagePair = EN_FR) -> list[LeftOut]:
    return [unit for unit in read_units(path, languages) if isinstance(unit, LeftOut)]


def fill_all(path: Path, translate: Callable[[Unit], str], note: str = "regard: machine translation") -> bytes:
    """The file with all its untranslated units filled."""
    fillings = [
        Filling(unit, translate(unit), "machine", review=True, note=note)
        for unit in units_of(path)
        if unit.state == "untranslated"
    ]
    assert fillings
    return filled(path, fillings, EN_FR)
