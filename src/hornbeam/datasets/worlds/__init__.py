"""Seeded worlds with a known truth, of any size: data for demonstrations, tests and benchmarks.

Each world is drawn from a stated model: its labels are coin flips with the probabilities that the
model gives, so nothing can rank the examples better than the truth does. The same arguments give
the same world. Another seed gives another world with the same truth: data to test on.
"""

from hornbeam.datasets.worlds.departments import UNIVERSITY_TRUTH, university, university_probabilities
from hornbeam.datasets.worlds.orders import SHOPPERS_TRUTH, shoppers, shoppers_probabilities
from hornbeam.datasets.worlds.smoking import SMOKERS_TRUTH, smokers, smokers_probabilities

__all__ = [
    "SHOPPERS_TRUTH",
    "SMOKERS_TRUTH",
    "UNIVERSITY_TRUTH",
    "shoppers",
    "shoppers_probabilities",
    "smokers",
    "smokers_probabilities",
    "university",
    "university_probabilities",
]
