"""gettext's Plural-Forms: how many forms a language has, and which of them a number takes.

    Plural-Forms: nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2);

The formula is C over the one variable n. It is translated to Python's operators by a parser of C's precedence and never
given to `eval`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADER = re.compile(r"nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*([^;]+);?")
_TOKEN = re.compile(r"\s*(\d+|n|\|\||&&|[=!<>]=|[?:()<>!%*/+-])")
# From the loosest to the tightest; ?: is below them all.
_BINARY = (("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))


@dataclass(frozen=True)
class PluralForms:
    count: int
    formula: str

    def form(self, number: int) -> int:
        """Which form this number takes."""
        return _Formula(self.formula, number).value()

    @property
    def singular(self) -> int | None:
        """The form of the number one; None where it is that of all numbers."""
        return None if self.count == 1 else self.form(1)


def plural_forms(header: str) -> PluralForms | None:
    """Of the value of a Plural-Forms field; None where it is not filled in, or no formula."""
    match = _HEADER.search(header)
    if match is None:
        return None
    forms = PluralForms(int(match.group(1)), match.group(2).strip())
    try:
        forms.form(1)
    except (ValueError, ZeroDivisionError, RecursionError):
        return None
    return forms


class _Formula:
    """Recursive descent that computes as it reads. Both sides of ?: are computed; division by zero there is 0."""

    def __init__(self, text: str, number: int) -> None:
        self.tokens, position = [], 0
        text = text.strip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise ValueError(text[position:])
            self.tokens.append(match.group(1))
            position = match.end()
        self.number = number

    def value(self) -> int:
        result = self._choice()
        if self.tokens:
            raise ValueError(self.tokens[0])
        return result

    def _choice(self) -> int:
        condition = self._binary(0)
        if not self._take("?"):
            return condition
        yes = self._choice()
        if not self._take(":"):
            raise ValueError("? without :")
        no = self._choice()
        return yes if condition else no

    def _binary(self, level: int) -> int:
        if level == len(_BINARY):
            return self._single()
        left = self._binary(level + 1)
        while self.tokens and self.tokens[0] in _BINARY[level]:
            operator = self.tokens.pop(0)
            left = _apply(operator, left, self._binary(level + 1))
        return left

    def _single(self) -> int:
        if self._take("!"):
            return int(not self._single())
        if self._take("("):
            inner = self._choice()
            if not self._take(")"):
                raise ValueError("( without )")
            return inner
        token = self.tokens.pop(0) if self.tokens else ""
        return self.number if token == "n" else int(token)

    def _take(self, token: str) -> bool:
        if self.tokens and self.tokens[0] == token:
            self.tokens.pop(0)
            return True
        return False


def _apply(operator: str, left: int, right: int) -> int:
    match operator:
        case "||":
            return int(bool(left) or bool(right))
        case "&&":
            return int(bool(left) and bool(right))
        case "==" | "!=":
            return int((left == right) == (operator == "=="))
        case "<":
            return int(left < right)
        case ">":
            return int(left > right)
        case "<=":
            return int(left <= right)
        case ">=":
            return int(left >= right)
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left // right if right else 0
        case _:
            return left % right if right else 0
