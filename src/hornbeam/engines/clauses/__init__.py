"""Counts of clauses: for the preset ``paper``, the rivals, and models that they learn."""
