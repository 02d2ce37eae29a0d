"""The published study of boosted relational logistic regression: one command runs it and writes a report.

``protocol`` lists the runs, ``one_run`` carries out one run, ``workers`` carries out many in parallel. Their
results are rows of a file (``row_file``); everything in the report is made from these rows. The methods that
the paper compares with are learners of the package, in ``hornbeam.rivals``.
"""
