"""Small files in every format, and how the tests read and fill them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from regard.formats.reading import is_one_language, read_units
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
        <source><sc id="3" isolated="yes"/>Two</source>
      </segment>
    </unit>
    <unit id="2" translate="no"><segment><source>regard</source></segment></unit>
  </file>
</xliff>
"""

QT = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="fr" sourcelanguage="en">
<context>
    <name>Window</name>
    <message>
        <location filename="w.cpp" line="3"/>
        <source>&amp;Save</source>
        <comment>menu</comment>
        <translation>&amp;Enregistrer</translation>
    </message>
    <message>
        <source>Two
lines<byte value="x1d"/></source>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes">
        <source>%n file(s)</source>
        <translation type="unfinished">
            <numerusform></numerusform>
            <numerusform/>
        </translation>
    </message>
    <message>
        <source>Old</source>
        <translation type="vanished">Vieux</translation>
    </message>
</context>
</TS>
"""

ANDROID = r"""<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <!-- The title -->
    <string name="title">Don\'t   "say  so"\n<b>now</b> &amp; then</string>
    <string name="app" translatable="false">regard</string>
    <string-array name="days"><item>Monday</item><item>Tuesday</item></string-array>
    <plurals name="files">
        <item quantity="one"><xliff:g id="n" example="1">%d</xliff:g> file</item>
        <item quantity="other"><xliff:g id="n" example="2">%d</xliff:g> files</item>
    </plurals>
    <dimen name="x">4dp</dimen>
</resources>
"""

STRINGS = r"""/* Title */
"title" = "Say \"hello\"\nto %@";
// bare
quit = "Quit \U00e9";
"a;b" = "semi; colon" ;
"""

STRINGSDICT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
 <key>files</key><dict>
  <key>NSStringLocalizedFormatKey</key><string>%#@count@</string>
  <key>count</key><dict>
   <key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>
   <key>NSStringFormatValueTypeKey</key><string>d</string>
   <key>one</key><string>%d file</string>
   <key>other</key><string>%d files &amp; more</string>
  </dict></dict></dict></plist>
"""

XCSTRINGS = """{
  "sourceLanguage" : "en",
  "strings" : {
    "Hello" : {

    },
    "bye" : {
      "comment" : "At the end",
      "localizations" : {
        "en" : {
          "stringUnit" : {
            "state" : "translated",
            "value" : "Goodbye"
          }
        }
      }
    },
    "done" : {
      "localizations" : {
        "fr" : {
          "stringUnit" : {
            "state" : "translated",
            "value" : "Fini"
          }
        }
      }
    },
    "look" : {
      "localizations" : {
        "fr" : {
          "stringUnit" : {
            "state" : "new",
            "value" : ""
          }
        }
      }
    },
    "name" : {
      "shouldTranslate" : false
    }
  },
  "version" : "1.0"
}
"""

PROPERTIES = r"""# Title
title = Say "hello" \
   to \u00e9 {0}
! note
a\:b:c\=d
empty=
 spaced	value\n
"""

JSON = """{
  "title": "Say \\"hello\\"\\n{{name}}",
  "nested": {"a.b": "é\\u00e9", "list": ["one", "two"], "n": 3, "no": null},
  "empty": {}, "file_one": "{{count}} file", "file_other": "{{count}} files",
  "@title": {"description": "ARB"}
}
"""

CSV = '''id;source;target;fuzzy
1;"Hello; ""you""";Bonjour;
2;"Two
lines";;
3;Quit;;False
4;Old;Vieux;True'''

SAMPLES = {
    "a.po": PO,
    "a.tmx": TMX,
    "a.1.xlf": XLIFF1,
    "a.2.xlf": XLIFF2,
    "a.ts": QT,
    "a.xcstrings": XCSTRINGS,
    "a.csv": CSV,
    "strings.xml": ANDROID,
    "a.strings": STRINGS,
    "a.stringsdict": STRINGSDICT,
    "a.properties": PROPERTIES,
    "a.json": JSON,
}
BILINGUAL = [name for name in SAMPLES if not is_one_language(name)]


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
