"""The published study of boosted relational logistic regression, run anew: one command, one report.

Rows of results are the one thing that is kept (``rows``); everything a reader sees is made from them.
"""
