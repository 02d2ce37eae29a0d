"""Options of a fit without what the default preset adds, for tests that look at one part at a time."""

from hornbeam.learning.options import FitOptions, fit_options

_PLAIN = {
    "n_steps": 40,
    "l2": 10.0,
    "beam_width": 30,
    "stop": "best",
    "neg_pos_ratio": 20.0,
    "populations": "training",
}


def plain(**explicit: object) -> FitOptions:
    """The published algorithm with a beam, on a sample of the negatives."""
    return fit_options("paper", **_PLAIN | explicit)
