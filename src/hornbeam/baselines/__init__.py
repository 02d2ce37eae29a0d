"""The learners that relational logistic regression is compared with, on the same data and engines."""
