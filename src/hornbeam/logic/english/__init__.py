"""Clauses, effects and curves for people: English sentences and small tables."""
