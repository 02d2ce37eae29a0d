"""The scikit-learn interface: one classifier for each learner."""
