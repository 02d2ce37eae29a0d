"""Text that was meant as numbers or dates: what to write is said where half of the values are such."""

from __future__ import annotations

import pytest

from hornbeam.loading.tables.columns.new_columns import text_column
from hornbeam.loading.tables.columns.other_forms import other_form


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["$3,400", "$1,200.50", "$70"],
            "its values look like numbers, such as $1,200.50; if they are, write them as 1234.5, "
            "without other signs",
        ),
        (
            ["1,200.50", "30", "call us"],
            "67% of its values look like numbers, such as 1,200.50; if they are, write them as 1234.5, "
            "without other commas",
        ),
        (
            ["12 %", "7%"],
            "its values look like numbers, such as 12 %; if they are, write them as 1234.5, "
            "without other signs",
        ),
        (
            ["31.12.2001", "2001-05-07", "5 May 1999", "soon"],
            "75% of its values look like dates, such as 2001-05-07; if they are, write all as 2024-12-31",
        ),
    ],
)
def test_what_was_meant_is_said(words: list[str], said: str) -> None:
    assert other_form(text_column("paid", words)) == said


@pytest.mark.parametrize(
    "words",
    [
        ["98122", "T2P 2T3", "01234"],
        ["+49301234", "030-007-4321", "030 123 4567"],
        ["$3", "free", "none"],
        ["10-20", "20-30", "30-40"],
        ["12", "12a", "14 b"],
        ["10 boxes x 20 bags", "24 - 12 oz bottles"],
    ],
)
def test_codes_phones_and_ranges_are_left_alone(words: list[str]) -> None:
    assert other_form(text_column("paid", words)) == ""
