"""Counts of clauses: in halves, within guards, cached for a fit, as exact sums, as truth values."""
