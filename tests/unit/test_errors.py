"""Errors as sentences."""

import pytest

from hornbeam import errors
from hornbeam.errors import HornbeamError, InputError, OptionError, Place, did_you_mean, plural


def test_every_error_is_one_of_ours() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    found = [kind for kind in kinds if issubclass(kind, Exception) and not issubclass(kind, Warning)]
    assert len(found) >= 8
    assert all(issubclass(kind, HornbeamError) for kind in found)


def test_every_error_is_drawn_in_the_tree() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    drawn = errors.__doc__.split()
    assert all(kind.__name__ in drawn for kind in kinds if issubclass(kind, Exception))


def test_an_option_error_is_a_value_error_too() -> None:
    with pytest.raises(ValueError, match="l2 is -1"):
        raise OptionError("l2 is -1.")


@pytest.mark.parametrize(
    ("place", "text"),
    [(Place("bk.txt", 4, 7), "bk.txt:4:7"), (Place("bk.txt", 4), "bk.txt:4"), (Place("bk.txt"), "bk.txt")],
)
def test_a_place_is_as_exact_as_is_known(place: Place, text: str) -> None:
    assert str(place) == text
    assert str(InputError("wrong.", place)) == f"{text}: wrong."


def test_an_error_without_a_place_is_its_sentence() -> None:
    assert str(InputError("wrong.")) == "wrong."


def test_many_names_are_not_all_listed() -> None:
    names = [f"n{number:02}" for number in range(15)]
    hint = did_you_mean("zzz", names, "Tables")
    assert hint == "Tables are: " + ", ".join(names[:12]) + " and 3 more."
    assert did_you_mean("n14", names, "Tables").endswith('Did you mean "n14"?')


def test_numbers_with_their_nouns() -> None:
    assert [plural(n, "fact") for n in (0, 1, 2, 12345)] == ["0 facts", "1 fact", "2 facts", "12,345 facts"]
