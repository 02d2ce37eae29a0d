"""Counts of clauses in tables of the SQL system, and their sums."""
