"""Tallies of groundings by SQL."""
