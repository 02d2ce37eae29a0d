"""The scikit-learn face: one classifier for each learner."""
