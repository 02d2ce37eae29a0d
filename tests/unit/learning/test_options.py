"""Options: what is allowed, what is refused and how, presets."""

from __future__ import annotations

import pickle
from typing import get_args

import numpy as np
import pytest

from hornbeam.errors import OptionError
from hornbeam.learning.options import OPTIONS, PRESETS, FitOptions, Options, fit_options
from hornbeam.learning.options.declared import GROUPS
from hornbeam.learning.options.option import Option


@pytest.mark.parametrize(
    ("name", "value", "bound"),
    [
        ("n_steps", 0, "a whole number from 1 to 1000000"),
        ("n_steps", 2.0, "a whole number from 1 to 1000000"),
        ("n_steps", True, "a whole number from 1 to 1000000"),
        ("l2", 1e308, "a finite number above 0 and at most 1e+100"),
        ("l2", 0, "a finite number above 0 and at most 1e+100"),
        ("l2", -1.5, "a finite number above 0 and at most 1e+100"),
        ("l2", float("nan"), "a finite number above 0 and at most 1e+100"),
        ("l2", "10", "a finite number above 0 and at most 1e+100"),
        ("l2", None, "a finite number above 0 and at most 1e+100"),
        ("max_literals", 0, "a whole number from 1 to 20"),
        ("beam_width", 0, "a whole number from 1 to 1000000"),
        ("stop", "Best", "'best' or 'full'"),
        ("prior", "odds", "a finite number of a size of at most 1e+100 or 'base-rate'"),
        ("prior", -1e308, "a finite number of a size of at most 1e+100 or 'base-rate'"),
        ("prior", float("inf"), "a finite number of a size of at most 1e+100 or 'base-rate'"),
        ("neg_pos_ratio", 0, "a finite number above 0 or None"),
        ("neg_pos_ratio", "all", "a finite number above 0 or None"),
        ("seed", -1, "a whole number from 0 to 9223372036854775807"),
        ("negation", 1, "True or False"),
        ("populations", "model", "'database' or 'training'"),
    ],
)
def test_a_value_out_of_bounds_is_refused_with_option_value_and_bound(
    name: str, value: object, bound: str
) -> None:
    with pytest.raises(OptionError) as error:
        fit_options(**{name: value})
    assert str(error.value) == f"{name}={value!r} is refused: it must be {bound}."
    assert (error.value.option, error.value.value) == (name, value)
    assert error.value.bound == FitOptions.declared()[name].bound
    assert pickle.loads(pickle.dumps(error.value)).option == name


@pytest.mark.parametrize("options", OPTIONS.values(), ids=list(OPTIONS))
def test_every_option_is_declared_in_full(options: type[Options]) -> None:
    for name, declared in options.declared().items():
        assert declared.name == name
        assert declared.option.group in GROUPS
        assert declared.option.help.endswith(".") and declared.option.help[0].isupper()
        assert declared.flag.startswith("--")
        assert set(declared.option.needs) <= set(options.names())
        for value in (declared.default, *declared.presets.values()):
            assert declared.bound.take(value) == value
            assert isinstance(value, get_args(declared.type) or declared.type)
        assert set(declared.presets) <= (set(PRESETS) if options is FitOptions else set())


def test_learners_that_share_a_name_share_the_declaration() -> None:
    options: dict[str, Option] = {}
    flags: dict[str, str] = {}
    for each in OPTIONS.values():
        for name, declared in each.declared().items():
            assert options.setdefault(name, declared.option) is declared.option
            assert flags.setdefault(declared.flag, name) == name


def test_the_defaults_are_the_default_preset() -> None:
    assert FitOptions() == PRESETS["default"] == fit_options()


def test_equal_values_have_one_form() -> None:
    written = fit_options(l2=10, n_steps=np.int64(3), prior=-0.0, neg_pos_ratio=np.float32(2)).settings()
    assert repr(written) == repr(fit_options(l2=10.0, n_steps=3, prior=0, neg_pos_ratio=2.0).settings())


def test_an_explicit_option_wins_over_the_preset() -> None:
    paper = fit_options("paper")
    assert paper == PRESETS["paper"]
    assert fit_options("paper", l2=1.0, neg_pos_ratio=2).settings() == paper.settings() | {
        "l2": 1.0,
        "neg_pos_ratio": 2.0,
    }
    assert fit_options("default", neg_pos_ratio=None).neg_pos_ratio is None


@pytest.mark.parametrize(
    ("preset", "explicit", "lacking"),
    [
        ("paper", {"validate": True}, "refit=True"),
        ("default", {"validate": True, "refit": False}, "refit=True"),
        ("default", {"per_constant": True, "refit": False}, "refit=True"),
        ("default", {"per_constant": True, "feature": "log"}, "feature='best'"),
        ("paper", {"per_constant": True}, "feature='best' and refit=True"),
    ],
)
def test_what_is_asked_for_and_would_do_nothing_is_refused(
    preset: str, explicit: dict[str, object], lacking: str
) -> None:
    with pytest.raises(OptionError) as error:
        fit_options(preset, **explicit)
    asked = next(iter(explicit))
    assert error.value.option == asked
    assert [*error.value.needs] == [each.partition("=")[0] for each in lacking.split(" and ")]
    assert str(error.value) == f"{asked}=True is refused: it does nothing without {lacking}."


def test_what_a_preset_has_may_do_nothing() -> None:
    assert fit_options(refit=False).validate
    assert fit_options(feature="log", validate=False).per_constant
    assert fit_options("paper", validate=False, per_constant=False) == PRESETS["paper"]
    assert fit_options("paper", validate=True, refit=True).validate


def test_the_paper_preset_is_the_published_algorithm() -> None:
    assert PRESETS["paper"].settings() == {
        "n_steps": 10,
        "l2": 1000.0,
        "max_literals": 4,
        "beam_width": 1,
        "stop": "full",
        "prior": 0.0,
        "neg_pos_ratio": None,
        "seed": 0,
        "negation": False,
        "populations": "database",
        "n_thresholds": 16,
        "false_counts": "population",
        "feature": "count",
        "refit": False,
        "length_penalty": 0.0,
        "look_ahead": False,
        "per_constant": False,
        "validate": False,
        "max_clauses": None,
    }


def test_unknown_names_are_refused_with_what_exists() -> None:
    with pytest.raises(OptionError) as error:
        fit_options("papers")
    assert str(error.value) == 'no preset "papers". Presets are: default, paper. Did you mean "paper"?'
    with pytest.raises(OptionError, match=r'Options are: beam_width, .*Did you mean "n_steps"'):
        fit_options(steps=3)
