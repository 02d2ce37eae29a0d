"""Clauses with one weight for each constant of a variable."""
