"""The elements of XLIFF 2 core: which stand where, with which attributes and values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from regard.formats.xml_events import LANG, XML

if TYPE_CHECKING:
    from regard.formats.xliff2_tree import Report, XliffElement

CORE = re.compile(r"urn:oasis:names:tc:xliff:document:2\.[012]")
CODES = ("ph", "pc", "sc", "ec")
INLINES = ("ph", "pc", "sc", "ec", "cp", "mrk", "sm", "em")
# Core children in the order in which they must stand; the same number: in any order.
CHILDREN: dict[str, dict[str, int]] = {
    "xliff": {"notes": 0, "file": 1},
    "file": {"skeleton": 0, "notes": 2, "unit": 3, "group": 3},
    "group": {"notes": 2, "unit": 3, "group": 3},
    "unit": {"notes": 2, "originalData": 3, "segment": 4, "ignorable": 4},
    "notes": {"note": 0},
    "note": {},
    "originalData": {"data": 0},
    "data": {"cp": 0},
    "segment": {"source": 0, "target": 1},
    "ignorable": {"source": 0, "target": 1},
    **{name: dict.fromkeys(INLINES, 0) for name in ("source", "target", "pc", "mrk")},
    **{name: {} for name in ("ph", "sc", "ec", "cp", "sm", "em")},
}
EXTENDED = {"file": 1, "group": 1, "unit": 1}  # elements of modules and extensions stand here, in the order's place 1
_CODE = "id canCopy canDelete canReorder canOverlap copyOf type subType subFlows dataRef equiv disp"
_PAIRED = "id dispEnd dispStart equivEnd equivStart dataRefEnd dataRefStart subFlowsEnd subFlowsStart"
_SPAN = "dir canCopy canDelete canReorder canOverlap copyOf type subType"
_MARK = "id translate type ref value"
ATTRIBUTES: dict[str, set[str]] = {
    "xliff": {"version", "srcLang", "trgLang"},
    "file": {"id", "canResegment", "original", "translate", "srcDir", "trgDir"},
    "skeleton": {"href"},
    "group": {"id", "name", "canResegment", "translate", "srcDir", "trgDir", "type"},
    "unit": {"id", "name", "canResegment", "translate", "srcDir", "trgDir", "type"},
    "segment": {"id", "canResegment", "state", "subState"},
    "ignorable": {"id"},
    "notes": set(),
    "note": {"id", "appliesTo", "category", "priority", "ref"},
    "originalData": set(),
    "data": {"id", "dir"},
    "source": set(),
    "target": {"order"},
    "cp": {"hex"},
    "ph": {name for name in _CODE.split() if name != "canOverlap"},
    "pc": {*_SPAN.split(), *_PAIRED.split()},
    "sc": set(f"{_CODE} dir isolated".split()),
    "ec": set(f"{_CODE} dir isolated startRef".split()),
    "mrk": set(_MARK.split()),
    "sm": set(_MARK.split()),
    "em": {"startRef"},
}
REQUIRED = dict.fromkeys(("file", "group", "unit", "data", "ph", "pc", "sc", "mrk", "sm"), "id")
NO_EXTENSIONS = ("segment", "ignorable", "source", "target", "notes", "originalData", "data", "cp", "em", *CODES)
VALUES = {
    "translate": ("yes", "no"),
    "canResegment": ("yes", "no"),
    "canCopy": ("yes", "no"),
    "canDelete": ("yes", "no"),
    "canOverlap": ("yes", "no"),
    "canReorder": ("yes", "firstNo", "no"),
    "isolated": ("yes", "no"),
    "state": ("initial", "translated", "reviewed", "final"),
    "appliesTo": ("source", "target"),
}
TYPES = ("fmt", "ui", "quote", "link", "image", "other")
SUBTYPES = {"xlf:lb": "fmt", "xlf:pb": "fmt", "xlf:b": "fmt", "xlf:i": "fmt", "xlf:u": "fmt", "xlf:var": "ui"}
_NMTOKEN = re.compile(r"[\w.:·-]+")
_PREFIXED = re.compile(r"[^:\s]+:\S+")
LANGUAGE = re.compile(r"([A-Za-z]{2,8}|[ixIX]-[A-Za-z0-9]{1,8})(-[A-Za-z0-9]{1,8})*|")
_MODULE = "urn:oasis:names:tc:xliff:"
_FS, _VALIDATION = f"{_MODULE}fs:2.0", f"{_MODULE}validation:2.0"
_FS_NAMES = frozenset(
    [
        "a",
        "b",
        "bdo",
        "big",
        "blockquote",
        "body",
        "br",
        "button",
        "caption",
        "center",
        "cite",
        "code",
        "col",
        "colgroup",
        "dd",
        "del",
        "div",
        "dl",
        "dt",
        "em",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "hr",
        "html",
        "i",
        "img",
        "input",
        "ins",
        "kbd",
        "label",
        "legend",
        "li",
        "link",
        "meta",
        "ol",
        "optgroup",
        "option",
        "p",
        "param",
        "pre",
        "q",
        "s",
        "samp",
        "select",
        "small",
        "span",
        "strike",
        "strong",
        "style",
        "sub",
        "sup",
        "table",
        "tbody",
        "td",
        "textarea",
        "tfoot",
        "th",
        "thead",
        "title",
        "tr",
        "tt",
        "u",
        "ul",
        "var",
    ]
)


def check_element(element: XliffElement, refuse: Report) -> None:
    """Its place among its siblings, its attributes and their values."""
    parent = element.parent
    if parent is not None and parent.name:
        _check_place(element, parent, refuse)
    if not element.name:
        if element.event.namespace == _VALIDATION and element.event.name not in ("validation", "rule"):
            refuse(element, f"<{element.event.name}> is no element of the validation module")
        return
    for attribute, value in element.attributes.items():
        _check_attribute(element, attribute, value, refuse)
    required = REQUIRED.get(element.name)
    if required and required not in element.attributes:
        refuse(element, f"<{element.name}> has no {required}")
    _check_types(element, refuse)
    if element.name == "cp":
        _check_code_point(element, refuse)


def _check_place(element: XliffElement, parent: XliffElement, refuse: Report) -> None:
    rank = _rank(element, parent)
    if rank is None:
        if parent.name == "skeleton" or (parent.name == "unit" and element.event.namespace == _VALIDATION):
            return
        refuse(element, f"<{element.event.name}> must not stand in <{parent.name}>")
        return
    before = [_rank(sibling, parent) or 0 for sibling in parent.children[:-1]]
    if before and max(before) > rank:
        refuse(element, f"<{element.event.name}> stands too late in <{parent.name}>")
    single = ("skeleton", "notes", "originalData", "source", "target")
    if element.name in single and any(sibling.name == element.name for sibling in parent.children[:-1]):
        refuse(element, f"a second <{element.name}> in <{parent.name}>")


def _rank(element: XliffElement, parent: XliffElement) -> int | None:
    if element.name:
        return CHILDREN.get(parent.name, {}).get(element.name)
    return EXTENDED.get(parent.name)


def _check_attribute(element: XliffElement, attribute: str, value: str, refuse: Report) -> None:
    namespace, _, name = attribute.rpartition(" ")
    if namespace == _FS:
        valid = name == "subFs" or (name == "fs" and value in _FS_NAMES)
        lone = element.name == "ec" and element.get("isolated") != "yes"
        if not valid or lone or element.name in ("em", "cp", "source", "target", "segment"):
            refuse(element, f"fs:{name}={value!r} is not allowed in <{element.name}>")
    elif namespace and namespace != XML:
        if element.name in NO_EXTENSIONS and not namespace.startswith(_MODULE) and "w3.org" not in namespace:
            refuse(element, f"an extension's attribute {name} in <{element.name}>")
    elif not namespace and name not in ATTRIBUTES[element.name]:
        refuse(element, f"<{element.name}> has no attribute {name}")
    elif attribute == LANG and not LANGUAGE.fullmatch(value):
        refuse(element, f"xml:lang {value!r} is no language code")
    elif name == "id" and not namespace and not _NMTOKEN.fullmatch(value):
        refuse(element, f"the id {value!r} is no NMTOKEN")
    elif not namespace and name in VALUES and value not in VALUES[name]:
        refuse(element, f"{name}={value!r}; it is one of {', '.join(VALUES[name])}")


def _check_types(element: XliffElement, refuse: Report) -> None:
    kind, sub = element.get("type"), element.get("subType")
    if element.name in ("ph", "pc", "sc", "ec"):
        if kind and kind not in TYPES:
            refuse(element, f"type={kind!r}; it is one of {', '.join(TYPES)}")
        if sub and not kind:
            refuse(element, "subType without type")
        if sub and (not _PREFIXED.fullmatch(sub) or SUBTYPES.get(sub, kind) != kind):
            refuse(element, f"subType {sub!r} does not go with type {kind!r}")
        if sub.startswith("xlf:") and sub not in SUBTYPES:
            refuse(element, f"subType {sub!r} is not known")
    if (
        element.name in ("mrk", "sm")
        and kind not in ("", "generic", "comment", "term")
        and not _PREFIXED.fullmatch(kind)
    ):
        refuse(element, f"type={kind!r}; it is generic, comment, term or prefix:value")
    if element.name == "segment" and element.get("subState"):
        if not element.get("state"):
            refuse(element, "subState without state")
        if not _PREFIXED.fullmatch(element.get("subState")):
            refuse(element, f"subState {element.get('subState')!r} is no prefix:value")


def _check_code_point(element: XliffElement, refuse: Report) -> None:
    """Only characters that XML cannot hold."""
    try:
        code = int(element.get("hex"), 16)
    except ValueError:
        code = -1
    in_xml = (
        code in (0x9, 0xA, 0xD) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF
    )
    if in_xml or not 0 <= code <= 0x10FFFF:
        refuse(element, f"<cp hex={element.get('hex')!r}>: no character that XML cannot hold")
