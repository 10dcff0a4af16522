"""Numbers of a source that its translation must hold, whatever the locale writes between their digits.

1,234.5 = 1.234,5 = 1 234,5 = 1'234.5    05 = 5    3rd = 3    ½ is no number here, and neither is two
"""

from __future__ import annotations

import re
import unicodedata

from regard.data.placeholders import find_placeholders

# Digits, with one mark or space between groups of them. \u00a0 \u202f and the apostrophes are group marks of locales.
NUMBER = re.compile(r"\d+(?:[.,'’٫٬\u00a0\u202f ]\d+)*")
GROUPED = re.compile(r"\d{1,3}(?:(?P<mark>[.,'’٬\u00a0\u202f ])\d{3})(?:(?P=mark)\d{3})*(?:[.,٫]\d+)?")
INDIAN = re.compile(r"\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?")


def find_numbers(text: str) -> list[str]:
    """The numbers of a text as they are written there; none inside a placeholder."""
    for placeholder in reversed(find_placeholders(text)):
        text = f"{text[: placeholder.start]}{' ' * 2}{text[placeholder.end :]}"
    found: list[str] = []
    for match in NUMBER.finditer(text):
        found += _apart(match.group())
    return found


def missing_numbers(source: str, output: str) -> tuple[str, ...]:
    """Those of the source that the output does not hold, each as often as it is missing."""
    numbers = find_numbers(source)
    if not numbers:
        return ()
    there = [_values(number) for number in find_numbers(output)]
    missing = []
    for number in numbers:
        wanted = _values(number)
        twin = next((values for values in there if not wanted.isdisjoint(values)), None)
        if twin is None:
            missing.append(number)
        else:
            there.remove(twin)
    return tuple(missing)


def _apart(written: str) -> list[str]:
    """One number where the marks are those of groups or of a fraction; else each run of digits: 3, 4 and 5 12 2024."""
    if GROUPED.fullmatch(written) or INDIAN.fullmatch(written) or re.fullmatch(r"\d+[.,٫]\d+", written):
        return [written]
    return re.findall(r"\d+(?:[.,٫]\d+)?", written)


def _values(written: str) -> set[str]:
    """What it may be in one locale or another, digits of any script: 1,234 is 1234 and 1.234."""
    plain = "".join(str(unicodedata.digit(letter)) if letter.isdigit() else letter for letter in written)
    digits = re.sub(r"[^\d]", "", plain)
    values = set()
    if GROUPED.fullmatch(written) or INDIAN.fullmatch(written):
        whole, mark, fraction = plain, "", ""
        last = max(plain.rfind(mark) for mark in ".,٫")
        marks = {letter for letter in plain if not letter.isdigit()}
        if last > 0 and len(marks) > 1:
            whole, mark, fraction = plain[:last], plain[last], plain[last + 1 :]
        values.add(_normal(re.sub(r"\D", "", whole), fraction if mark else ""))
    one_mark = re.fullmatch(r"(\d+)[.,٫](\d+)", plain)
    if one_mark:
        values.add(_normal(*one_mark.groups()))
    if digits == plain:
        values.add(_normal(plain, ""))
    return values


def _normal(whole: str, fraction: str) -> str:
    fraction = fraction.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")
