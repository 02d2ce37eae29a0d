"""Options: what is allowed, what is refused and how, presets."""

from __future__ import annotations

import pickle
from typing import get_args, get_origin

import numpy as np
import pytest

from hornbeam.errors import HornbeamWarning, OptionError
from hornbeam.learning.options import OPTIONS, PRESETS, EffectOptions, Options, PaperOptions, fit_options
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
        fit_options("paper", **{name: value})
    assert str(error.value) == f"{name}={value!r} is refused: it must be {bound}."
    assert (error.value.option, error.value.value) == (name, value)
    assert error.value.bound == PaperOptions.declared()[name].bound
    assert pickle.loads(pickle.dumps(error.value)).option == name


CLASSES = {**OPTIONS, "paper": PaperOptions}


@pytest.mark.parametrize("options", CLASSES.values(), ids=list(CLASSES))
def test_every_option_is_declared_in_full(options: type[Options]) -> None:
    for name, declared in options.declared().items():
        assert declared.name == name
        assert declared.option.group in GROUPS
        assert declared.option.help.endswith(".") and declared.option.help[0].isupper()
        assert declared.flag.startswith("--")
        assert declared.bound.take(declared.default) == declared.default
        many = get_origin(declared.type) is tuple
        assert isinstance(declared.default, tuple if many else get_args(declared.type) or declared.type)
        assert declared.option.successor in ("", *EffectOptions.names())


def test_learners_that_share_a_name_share_the_declaration() -> None:
    options: dict[str, Option] = {}
    flags: dict[str, str] = {}
    for each in CLASSES.values():
        for name, declared in each.declared().items():
            assert options.setdefault(name, declared.option) is declared.option
            assert flags.setdefault(declared.flag, name) == name


def test_the_defaults_are_the_default_preset() -> None:
    assert EffectOptions() == PRESETS["default"] == fit_options()
    assert PaperOptions() == PRESETS["paper"] == fit_options("paper")


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


IN_PAPER = 'it belongs to preset "paper"'


@pytest.mark.parametrize(
    ("preset", "explicit", "message"),
    [
        (
            "default",
            {"look_ahead": True},
            'it belongs to preset "paper"; for preset "default" see max_links.',
        ),
        (
            "default",
            {"refit": False},
            'it belongs to preset "paper"; for preset "default" see learning_rate.',
        ),
        ("default", {"populations": "database"}, IN_PAPER + "."),
        ("paper", {"n_bags": 1}, 'it belongs to preset "default".'),
        ("paper", {"validate": False}, 'it belongs to preset "default".'),
    ],
)
def test_an_option_of_the_other_preset_is_refused(
    preset: str, explicit: dict[str, object], message: str
) -> None:
    with pytest.raises(OptionError) as error:
        fit_options(preset, **explicit)
    ((name, value),) = explicit.items()
    assert error.value.option == name
    assert str(error.value) == f"{name}={value!r} is refused: {message}"


def test_every_option_belongs_to_a_preset_or_to_both() -> None:
    shared = {"n_steps", "l2", "max_literals", "prior", "neg_pos_ratio", "seed", "negation", "n_thresholds"}
    assert set(EffectOptions.names()) & set(PaperOptions.names()) == shared
    assert set(PaperOptions.names()) - shared == {
        "feature", "refit", "length_penalty", "look_ahead",
        "stop", "beam_width", "false_counts", "populations",
    }  # fmt: skip


def test_an_old_name_is_accepted_with_a_warning() -> None:
    with pytest.warns(HornbeamWarning, match="the option max_clauses is now called max_effects"):
        assert fit_options(max_clauses=8) == fit_options(max_effects=8)
    with pytest.raises(OptionError, match='no option "max_clauses"'):
        fit_options("paper", max_clauses=8)


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
    with pytest.raises(
        OptionError, match=r'Options are: choice, falling, group, keep_gain, .*Did you mean "n_steps"'
    ):
        fit_options(steps=3)
