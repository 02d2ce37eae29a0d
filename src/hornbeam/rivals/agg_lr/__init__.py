"""AGG-LR: logistic regression on relational aggregates."""
