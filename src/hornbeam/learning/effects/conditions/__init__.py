"""Conditions beside others: paths narrowed by a condition, and candidates narrowed by one on the example."""
