"""One HTML file of the viewer's modules, its style sheet and a record.

No bundler: each module becomes a function that returns what the module exports, and an import reads it from there. So
each keeps names of its own. What a module imports must stand before it in MODULES; a test checks that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from html import escape
from importlib import resources
from typing import Any

MODULES = (
    *("dom.js", "tokens.js", "maps.js", "save.js", "heat-map.js", "lines.js", "image.js", "heads.js"),
    *("sentences.js", "trace-view.js", "tree.js"),
)
STYLE, MAIN = "style.css", "main.js"
IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w-]+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export ((?:async )?function\*?|const|class) (\w+)", re.MULTILINE)


def asset(name: str) -> str:
    """A module or the style sheet, as it stands in this folder."""
    assert name in (*MODULES, STYLE, MAIN), name
    return (resources.files("regard.plotting.viewer") / name).read_text(encoding="utf-8")


def script(modules: Iterable[tuple[str, str]]) -> str:
    """One script of modules, each a name and its text, in an order in which what is imported stands before."""
    return "\n".join(_as_function(name, text) for name, text in modules)


def viewer_page(title: str, record: Mapping[str, Any]) -> str:
    """A page that shows a record (`as_dict` of a trace or a tree) and works offline."""
    data = json.dumps(record, ensure_ascii=False).replace("<", "\\u003c")  # a token may be </script>
    program = script((name, asset(name)) for name in (*MODULES, MAIN))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>regard: {escape(title)}</title>\n<style>\n{asset(STYLE)}</style></head>\n<body>\n"
        f'<script type="application/json" id="data">{data}</script>\n'
        f'<script type="module">\n{program}</script>\n</body></html>\n'
    )


def in_frame(page: str) -> str:
    """A page in a frame of its own, as notebooks show it."""
    return f'<iframe srcdoc="{escape(page)}" width="100%" height="720" style="border:0"></iframe>'


def _as_function(module: str, text: str) -> str:
    source = IMPORT.sub(lambda found: f"const {found[1]} = {_variable(found[2])};\n", text)
    exported = ", ".join(name for _, name in EXPORT.findall(source))
    body = EXPORT.sub(r"\1 \2", source)
    name = _variable(module.removesuffix(".js"))
    return f"// {module}\nconst {name} = (() => {{\n{body}return {{ {exported} }};\n}})();\n"


def _variable(stem: str) -> str:
    return f"{stem.replace('-', '_')}_module"
