"""Boosted clauses: relational logistic regression and MLN-Boost."""
