"""Boosted clauses: relational logistic regression, the preset `paper`."""
