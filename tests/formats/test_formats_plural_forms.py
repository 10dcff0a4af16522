"""gettext's plural formulas, as C computes them."""

from __future__ import annotations

import pytest

from regard.formats.plural_forms import plural_forms

RUSSIAN = "n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2"
ARABIC = "(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5)"


@pytest.mark.parametrize(
    ("header", "forms", "singular"),
    [
        ("nplurals=2; plural=(n != 1);", [1, 0, 1, 1], 0),
        ("nplurals=2; plural=n>1", [0, 0, 1, 1], 0),
        ("nplurals=1; plural=0;", [0, 0, 0, 0], None),
        (f"nplurals=3; plural=({RUSSIAN});", [2, 0, 1, 2], 0),
        (f"nplurals=6; plural={ARABIC};", [0, 1, 2, 3], 1),
    ],
)
def test_forms_of_numbers(header: str, forms: list[int], singular: int | None) -> None:
    plural = plural_forms(header)
    assert plural is not None
    assert [plural.form(number) for number in (0, 1, 2, 5)] == forms
    assert plural.singular == singular


def test_operators_bind_as_in_c() -> None:
    for formula, value in (("1+2*3-8/4", 5), ("!0==1", 1), ("1 ? 0 : 1 ? 2 : 3", 0), ("7%4>2&&2<=2||0", 1), ("5/0", 0)):
        plural = plural_forms(f"nplurals=9; plural={formula};")
        assert plural is not None
        assert plural.form(0) == value


@pytest.mark.parametrize(
    "header", ["nplurals=INTEGER; plural=EXPRESSION;", "nplurals=2; plural=n+;", "nplurals=2; plural=(n;", ""]
)
def test_what_is_no_formula_is_none(header: str) -> None:
    assert plural_forms(header) is None
