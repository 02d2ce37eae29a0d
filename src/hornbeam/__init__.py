"""Relational logistic regression: readable clauses, exact counts, boosted."""

from hornbeam.version import __version__

__all__ = ["__version__"]
