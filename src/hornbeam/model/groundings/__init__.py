"""Groundings: the facts that make a clause true for an example."""
