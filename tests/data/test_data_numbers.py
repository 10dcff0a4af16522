"""Numbers are the same in every locale's writing, and what is missing is told."""

import pytest

from regard.data.numbers import find_numbers, missing_numbers


@pytest.mark.parametrize(
    ("source", "output", "missing"),
    [
        ("1,234.5 km", "1\u202f234,5 km", ()),
        ("1,234", "1.234", ()),
        ("1,234", "1234", ()),
        ("1,234", "1 234", ()),
        ("12,34,567 rupees", "1 234 567 roupies", ()),
        ("1'000'000.50", "1.000.000,50", ()),
        ("10.5%", "10,5 %", ()),
        ("3.0", "3", ()),
        ("5 March 2021", "05/03/2021", ()),
        ("at 3:45", "à 3 h 45", ()),
        ("٣ items", "3 éléments", ()),
        ("7 of 7", "7 sur", ("7",)),
        ("1.5 or 15", "15 ou 15", ("1.5",)),
        ("2024, 300", "2024", ("300",)),
        ("{0} of 10", "{0} sur dix", ("10",)),
        ("no number", "3", ()),
    ],
)
def test_numbers_of_the_source(source: str, output: str, missing: tuple[str, ...]):
    assert missing_numbers(source, output) == missing


def test_numbers_of_placeholders_are_none():
    assert find_numbers("%1$d {0} AB-1234 https://a.org/12 <x1/> 5") == ["5"]


def test_a_list_is_not_one_number():
    assert find_numbers("12, 13 and 14; 3 4; 1.2.3") == ["12", "13", "14", "3", "4", "1.2", "3"]
