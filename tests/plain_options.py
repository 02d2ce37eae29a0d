"""Options for tests that look at one part of a learner at a time, or have few examples."""

from hornbeam.learning.options import EffectOptions, PaperOptions, effect_options, paper_options

_PLAIN = {
    "n_steps": 40,
    "l2": 10.0,
    "beam_width": 30,
    "stop": "best",
    "neg_pos_ratio": 20.0,
    "populations": "training",
}
_JOINT = {
    "n_steps": 30,
    "l2": 2.0,
    "max_literals": 3,
    "beam_width": 10,
    "stop": "best",
    "prior": "base-rate",
    "neg_pos_ratio": 50.0,
    "populations": "training",
    "feature": "log",
    "refit": True,
    "length_penalty": 0.2,
}
FEW = {"validate": False, "n_bags": 1, "learning_rate": 1.0}
"""Options of the default preset that learn from a few examples what is true of them."""


def plain(**explicit: object) -> PaperOptions:
    """The published algorithm with a beam, on a sample of the negatives."""
    return paper_options(**_PLAIN | explicit)


def joint(**explicit: object) -> PaperOptions:
    """Boosted clauses over ln(1 + count), whose weights are fitted together after each step."""
    return paper_options(**_JOINT | explicit)


def few(**explicit: object) -> EffectOptions:
    """Effects that are learned from a few examples."""
    return effect_options(**FEW | explicit)
