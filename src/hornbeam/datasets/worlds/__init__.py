"""Generated worlds with a known truth, of any size: data for demonstrations, tests and benchmarks.

The labels of a world are drawn with the probabilities of a stated model, so on average nothing ranks the
examples better than this model does. The same arguments give the same world. Another seed gives another world
with the same truth, which serves as test data.
"""

from hornbeam.datasets.worlds.departments import UNIVERSITY_TRUTH, university, university_probabilities
from hornbeam.datasets.worlds.shop import SHOP_TRUTH, shop_files, write_shop
from hornbeam.datasets.worlds.smoking import SMOKERS_TRUTH, smokers, smokers_probabilities

__all__ = [
    "SHOP_TRUTH",
    "SMOKERS_TRUTH",
    "UNIVERSITY_TRUTH",
    "shop_files",
    "smokers",
    "smokers_probabilities",
    "university",
    "university_probabilities",
    "write_shop",
]
