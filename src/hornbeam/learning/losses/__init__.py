"""The logistic loss: gradients for boosting, and weights that minimise it."""
