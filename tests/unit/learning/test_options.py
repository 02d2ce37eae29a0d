"""Options: what is allowed, what is refused and how, presets."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from hornbeam.errors import OptionError
from hornbeam.learning.options import PRESETS, FitOptions, fit_options


@pytest.mark.parametrize(
    ("name", "value", "bound"),
    [
        ("n_steps", 0, "a whole number from 1 to 1000000"),
        ("n_steps", 2.0, "a whole number from 1 to 1000000"),
        ("n_steps", True, "a whole number from 1 to 1000000"),
        ("l2", 0, "a finite number above 0"),
        ("l2", -1.5, "a finite number above 0"),
        ("l2", float("nan"), "a finite number above 0"),
        ("l2", "10", "a finite number above 0"),
        ("l2", None, "a finite number above 0"),
        ("max_literals", 0, "a whole number from 1 to 20"),
        ("beam_width", 0, "a whole number from 1 to 1000000"),
        ("stop", "Best", "'best' or 'full'"),
        ("prior", "odds", "a finite number or 'base-rate'"),
        ("prior", float("inf"), "a finite number or 'base-rate'"),
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


def test_every_option_has_a_bound() -> None:
    assert all(option.metadata.get("bound") for option in fields(FitOptions))


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
